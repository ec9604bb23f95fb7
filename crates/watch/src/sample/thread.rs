//! A sampler in its own thread. The caller can stop waiting for an interval, so a reading that
//! hangs holds up nothing else.

use super::Sampler;
use super::steps::{Step, Steps};
use crate::scope::ScopeError;
use crate::tick::Tick;
use dist::Watcher;
use model::live::SourceUse;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Number of intervals after which the memory that a storm of threads took is given back.
const TIDY: u64 = 10;

/// How long to wait for the end of the thread.
const PATIENCE: Duration = Duration::from_millis(300);

/// A running sampler.
#[derive(Debug)]
pub struct Sampling {
    orders: Option<Sender<Order>>,
    intervals: Receiver<Sampled>,
    thread: Option<JoinHandle<()>>,
    steps: Steps,
    is_ordered: bool,
}

/// An interval.
#[derive(Debug)]
pub struct Sampled {
    /// What happened in it.
    pub tick: Tick,
    /// Where the figures come from.
    pub sources: Vec<SourceUse>,
}

/// Why there is no sampler.
#[derive(Debug)]
pub enum StartError {
    /// The programs that are to be watched do not exist.
    Scope(ScopeError),
    /// There is no thread, or it has ended.
    Thread(std::io::Error),
}

enum Order {
    Tick,
    Ask(Vec<Watcher>),
}

/// What can be read interval by interval.
pub trait Intervals {
    /// What happened since the last call, or since the start.
    fn tick(&mut self) -> Tick;
    /// Where the figures come from.
    fn sources(&self) -> &[SourceUse];
    /// Asks these nodes from then on.
    fn ask(&mut self, nodes: Vec<Watcher>);
}

impl Intervals for Sampler {
    fn tick(&mut self) -> Tick {
        Sampler::tick(self)
    }

    fn sources(&self) -> &[SourceUse] {
        Sampler::sources(self)
    }

    fn ask(&mut self, nodes: Vec<Watcher>) {
        Sampler::ask(self, nodes);
    }
}

impl Sampling {
    /// Starts a thread in which `make` makes the sampler. Then `restrict` restricts that thread.
    ///
    /// # Errors
    /// If there is no sampler.
    pub fn start<S: Intervals>(
        make: impl FnOnce(Steps) -> Result<S, ScopeError> + Send + 'static,
        restrict: impl FnOnce() + Send + 'static,
    ) -> Result<(Self, Vec<SourceUse>), StartError> {
        let (orders, to_do) = channel();
        let (done, intervals) = channel();
        let (says, started) = channel();
        let steps = Steps::default();
        let of_thread = steps.clone();
        let work = move || {
            of_thread.set_thread();
            let mut sampler = match make(of_thread.clone()) {
                Ok(sampler) => sampler,
                Err(error) => return drop(says.send(Err(error))),
            };
            restrict();
            if says.send(Ok(sampler.sources().to_vec())).is_ok() {
                serve(&mut sampler, &of_thread, &to_do, &done);
            }
        };
        let thread = std::thread::Builder::new().name("sampler".to_owned()).spawn(work);
        let thread = Some(thread.map_err(StartError::Thread)?);
        let ended = |_| StartError::Thread(std::io::Error::other("the sampler has ended"));
        let sources = started.recv().map_err(ended)?.map_err(StartError::Scope)?;
        let orders = Some(orders);
        Ok((Sampling { orders, intervals, thread, steps, is_ordered: false }, sources))
    }

    /// Asks these nodes from then on.
    pub fn ask(&self, nodes: Vec<Watcher>) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(Order::Ask(nodes));
        }
    }

    /// What happened since the last interval, if it is there within this time. If it comes later,
    /// the next call returns it.
    pub fn tick(&mut self, within: Duration) -> Option<Sampled> {
        if !self.is_ordered {
            self.is_ordered = self.orders.as_ref()?.send(Order::Tick).is_ok();
        }
        match self.intervals.recv_timeout(within) {
            Ok(sampled) => {
                self.is_ordered = false;
                Some(sampled)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(within);
                None
            }
        }
    }

    /// The current step of the sampler.
    pub fn steps(&self) -> &Steps {
        &self.steps
    }
}

fn serve(
    sampler: &mut impl Intervals,
    steps: &Steps,
    to_do: &Receiver<Order>,
    done: &Sender<Sampled>,
) {
    let mut served = 0_u64;
    while let Ok(order) = to_do.recv() {
        match order {
            Order::Ask(nodes) => sampler.ask(nodes),
            Order::Tick => {
                let tick = sampler.tick();
                steps.begin(Step::Idle);
                let sources = sampler.sources().to_vec();
                if done.send(Sampled { tick, sources }).is_err() {
                    return;
                }
                served += 1;
                if served.is_multiple_of(TIDY) {
                    os::memory::give_back_small();
                }
            }
        }
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.orders = None;
        let Some(thread) = self.thread.take() else { return };
        let until = Instant::now() + PATIENCE;
        while !thread.is_finished() {
            // A thread that hangs is left to the end of the process.
            if Instant::now() >= until {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sampler whose reading lasts until the test lets it go.
    struct Hanging(Receiver<()>, Steps);

    impl Intervals for Hanging {
        fn tick(&mut self) -> Tick {
            self.1.begin(Step::Processes);
            let _ = self.0.recv();
            Tick { over_ns: 7, ..Tick::default() }
        }

        fn sources(&self) -> &[SourceUse] {
            &[]
        }

        fn ask(&mut self, _: Vec<Watcher>) {}
    }

    #[test]
    fn a_reading_that_hangs_holds_up_the_interval_and_not_who_waits_for_it() {
        let (let_go, hangs) = channel();
        let make = |steps| Ok(Hanging(hangs, steps));
        let mut sampling = Sampling::start(make, || {}).unwrap().0;
        let long = Duration::from_secs(60);
        let_go.send(()).unwrap();
        assert_eq!(sampling.tick(long).unwrap().tick.over_ns, 7);
        assert!(sampling.tick(Duration::from_millis(50)).is_none());
        assert!(sampling.tick(Duration::from_millis(1)).is_none());
        // On a busy machine the thread may begin its reading later.
        let until = Instant::now() + long;
        while sampling.steps().now() != Step::Processes && Instant::now() < until {
            assert!(sampling.tick(Duration::from_millis(1)).is_none());
        }
        assert_eq!(sampling.steps().now(), Step::Processes);
        // Once it is let go, the next call returns its interval, and only that one.
        let_go.send(()).unwrap();
        assert!(sampling.tick(long).is_some());
        // A reading that hangs for ever does not keep the process from ending.
        assert!(sampling.tick(Duration::from_millis(50)).is_none());
        let began = Instant::now();
        drop(sampling);
        assert!(began.elapsed() < long);
        drop(let_go);
    }
}
