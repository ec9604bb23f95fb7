//! A sampler in a thread of its own: whoever waits for an interval can stop waiting, so a reading
//! that hangs holds up nothing but itself.

use super::steps::{Step, Steps};
use super::{Sampler, ScopeError};
use crate::tick::Tick;
use dist::Watcher;
use model::live::SourceUse;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the end of the thread is waited for.
const PATIENCE: Duration = Duration::from_millis(300);

/// A sampler under way.
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
    /// What is to be looked at does not exist.
    Scope(ScopeError),
    /// There is no thread, or it has ended.
    Thread(std::io::Error),
}

enum Order {
    Tick,
    Ask(Vec<Watcher>),
}

impl Sampling {
    /// Starts: `make` makes the sampler, in its thread, which `restrict` then restricts.
    ///
    /// # Errors
    /// If there is no sampler.
    pub fn start(
        make: impl FnOnce(Steps) -> Result<Sampler, ScopeError> + Send + 'static,
        restrict: impl FnOnce() + Send + 'static,
    ) -> Result<(Self, Vec<SourceUse>), StartError> {
        let (orders, to_do) = channel();
        let (done, intervals) = channel();
        let (says, started) = channel();
        let steps = Steps::default();
        let of_thread = steps.clone();
        let work = move || {
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

    /// Looks into these nodes from now on.
    pub fn ask(&self, nodes: Vec<Watcher>) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(Order::Ask(nodes));
        }
    }

    /// What happened since the last interval, if it is there in this time. One that comes later is
    /// that of the next call.
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

    /// What it is at.
    pub fn step(&self) -> Step {
        self.steps.now()
    }
}

fn serve(sampler: &mut Sampler, steps: &Steps, to_do: &Receiver<Order>, done: &Sender<Sampled>) {
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
            // One that hangs is left to the end of the process.
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
    use crate::reader::Readers;
    use host::Roots;
    use model::live::Scope;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    fn start(roots: Roots) -> Sampling {
        let make = move |steps| {
            Sampler::start(&roots, &Scope::default(), Readers::None).map(|it| it.with_steps(steps))
        };
        Sampling::start(make, || {}).map_err(|error| format!("{error:?}")).unwrap().0
    }

    #[test]
    fn a_file_that_hangs_holds_up_the_interval_and_not_who_waits_for_it() {
        let tree = testing::Tree::new(&[("proc/stat", "cpu 1 0 0 0\n")]);
        let mut sampling = start(Roots::at(tree.root()));
        assert!(sampling.tick(Duration::from_secs(60)).is_some());
        // Who reads it waits until somebody writes.
        let stat = tree.root().join("proc/stat");
        std::fs::remove_file(&stat).unwrap();
        mknodat(CWD, &stat, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(sampling.tick(Duration::from_millis(100)).is_none());
        assert!(sampling.tick(Duration::from_millis(10)).is_none());
        assert_eq!(sampling.step(), Step::Machine);
        // It goes on where the file lets go, and the interval is that of the next call.
        drop(std::fs::File::options().write(true).open(&stat).unwrap());
        assert!(sampling.tick(Duration::from_secs(60)).is_some());
        // One that hangs for ever does not keep the process from ending.
        assert!(sampling.tick(Duration::from_millis(100)).is_none());
        let began = Instant::now();
        drop(sampling);
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
