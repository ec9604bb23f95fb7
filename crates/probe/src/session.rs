//! Watches one trial, with programs in the kernel if they can be loaded, otherwise with /proc.

use crate::files::Files;
use crate::options::SessionOptions;
#[cfg(feature = "bpf")]
use crate::tracer::Tracer;
use crate::watched::Watched;
use host::roots::Roots;
use model::Evidence;
use model::not_seen::{NotSeen, OnlyPrograms};

/// A watch over one trial. When it is dropped, nothing of it stays behind.
pub struct Session {
    roots: Roots,
    #[cfg(feature = "bpf")]
    tracer: Option<Tracer>,
    files: Files,
    missing: Vec<NotSeen>,
}

impl Session {
    /// Starts the watch. If the programs cannot be loaded, the evidence gives the reason.
    pub fn start(options: &SessionOptions) -> Self {
        let mut session = Session {
            roots: options.roots.clone(),
            #[cfg(feature = "bpf")]
            tracer: None,
            files: Files::default(),
            missing: Vec::new(),
        };
        session.load(options);
        session
    }

    #[cfg(feature = "bpf")]
    fn load(&mut self, options: &SessionOptions) {
        match Tracer::start(options) {
            Ok(tracer) => self.tracer = Some(tracer),
            Err(why) => self.missing.push(NotSeen::NoPrograms(why)),
        }
    }

    #[cfg(not(feature = "bpf"))]
    fn load(&mut self, _: &SessionOptions) {
        self.missing.push(NotSeen::NoPrograms(model::not_seen::NoPrograms::NotBuilt));
    }

    /// Whether programs are loaded.
    pub fn is_traced(&self) -> bool {
        #[cfg(feature = "bpf")]
        return self.tracer.is_some();
        #[cfg(not(feature = "bpf"))]
        false
    }

    /// Watches these processes, beginning with this call.
    pub fn watch(&mut self, watched: Vec<Watched>) {
        self.files.watch(&watched);
        #[cfg(feature = "bpf")]
        if let Some(tracer) = &self.tracer {
            tracer.watch(watched);
        }
    }

    /// Marks the release of the load; times are counted from here.
    pub fn release(&mut self) {
        #[cfg(feature = "bpf")]
        if let Some(tracer) = &self.tracer {
            tracer.release();
            return;
        }
        self.files.release(&self.roots);
    }

    /// Ends the watch, while all watched processes are still alive. This is quick, since the load
    /// still runs.
    pub fn stop(&mut self) {
        #[cfg(feature = "bpf")]
        if let Some(tracer) = &self.tracer {
            tracer.stop();
            return;
        }
        self.files.stop(&self.roots);
    }

    /// Returns the evidence up to [`Session::stop`]; this may take a moment.
    pub fn finish(self) -> Evidence {
        #[cfg(feature = "bpf")]
        if let Some(tracer) = self.tracer {
            return tracer.finish().unwrap_or_else(|| Evidence {
                missing: vec![NotSeen::Listener],
                ..Evidence::default()
            });
        }
        let mut evidence = Evidence { missing: self.missing, ..Evidence::default() };
        evidence.missing.push(NotSeen::OnlyPrograms(OnlyPrograms::Holders));
        self.files.finish(&mut evidence);
        evidence
    }
}
