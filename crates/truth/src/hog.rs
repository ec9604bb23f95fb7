//! A process that uses a whole CPU while its guard lives.

use crate::row::Hog;
use os::pin::Mask;
use rustix::process::{Signal, nice};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A running hog. It ends when this guard is dropped, and when this process ends in any way.
pub(crate) struct RunningHog(Child);

impl RunningHog {
    /// Starts a hog.
    ///
    /// # Errors
    /// If the CPU does not exist, or the nice value is not permitted.
    pub(crate) fn start(hog: &Hog) -> std::io::Result<Self> {
        let mask = match hog.cpu {
            Some(cpu) => Some(Mask::from_cpus(&[u32::try_from(cpu).unwrap_or(u32::MAX)])?),
            None => None,
        };
        let value = hog.nice;
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        os::death::bind(&mut command, Signal::KILL);
        // SAFETY: each of these is a single system call that allocates nothing, so it is allowed
        // between fork and exec.
        unsafe {
            command.pre_exec(move || {
                mask.as_ref().map_or(Ok(()), Mask::apply)?;
                nice(value)?;
                Ok(())
            });
        }
        command.spawn().map(RunningHog)
    }
}

impl Drop for RunningHog {
    fn drop(&mut self) {
        // A hog that has already ended needs nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hog_runs_pinned_and_nice_and_goes_with_its_guard() {
        let cpu = os::pin::allowed().unwrap().first().map(|cpu| *cpu as usize);
        let hog = RunningHog::start(&Hog { cpu, nice: 3 }).unwrap();
        let folder = format!("/proc/{}", hog.0.id());
        let status = std::fs::read_to_string(format!("{folder}/status")).unwrap();
        let list = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
        assert_eq!(list.split_whitespace().last(), cpu.map(|c| c.to_string()).as_deref());
        let stat = std::fs::read(format!("{folder}/stat")).unwrap();
        let nice = os::stat::Stat::parse(&stat).unwrap().nice();
        let own = rustix::process::getpriority_process(None).unwrap();
        assert_eq!(nice, Some((own + 3).min(19)));
        drop(hog);
        assert!(!std::path::Path::new(&folder).exists());
    }
}
