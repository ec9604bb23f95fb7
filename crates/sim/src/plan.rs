//! Finds a quota that is enough: the inverse of the simulation.

use crate::config::Config;
use crate::engine::simulate_requests;
use crate::error::Error;
use crate::request::Request;
use crate::search::least_holding;
use crate::workload::Workload;
use serde::Serialize;

/// Most runs per quota.
const MOST_RUNS: u32 = 1_000;

/// The goal that a quota must meet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goal {
    /// Percentile of the requests that must meet the target: 99 for p99.
    pub percentile: f64,
    /// The latency target, in nanoseconds.
    pub target_ns: u64,
    /// The largest allowed burst, in nanoseconds; 0 for none.
    pub burst_ns: u64,
    /// The step between two quotas, in nanoseconds. Less than 1 ms makes no sense.
    pub step_ns: u64,
    /// Runs per quota, each with other timer phases and other arrivals. The requests of all runs
    /// are combined.
    pub runs: u32,
}

impl Goal {
    /// A percentile and its target in nanoseconds; no burst, steps of 1 ms, four runs.
    pub fn new(percentile: f64, target_ns: u64) -> Self {
        Goal { percentile, target_ns, burst_ns: 0, step_ns: 1_000_000, runs: 4 }
    }

    fn check(&self) -> Result<(), Error> {
        let wrong = |sentence: &str| Err(Error::Plan(sentence.to_owned()));
        if !(self.percentile > 0.0 && self.percentile <= 100.0) {
            return wrong("a percentile has to be above 0 and at most 100");
        }
        if self.target_ns == 0 || self.step_ns == 0 {
            return wrong("a target and a step between quotas have to be above 0");
        }
        if !(1..=MOST_RUNS).contains(&self.runs) {
            return wrong("a quota has to be tried in 1 to 1000 runs");
        }
        Ok(())
    }
}

/// A quota and burst that were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tried {
    /// Quota, in nanoseconds.
    pub quota_ns: u64,
    /// Burst, in nanoseconds.
    pub burst_ns: u64,
    /// The percentile of the latency, in nanoseconds. None if too many requests were not finished
    /// within the target.
    pub latency_ns: Option<u64>,
    /// Whether the goal was met.
    pub holds: bool,
}

/// The smallest quota that meets the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Holding {
    /// Quota, in nanoseconds. All larger quotas that were tried also meet the goal.
    pub quota_ns: u64,
    /// Burst, in nanoseconds.
    pub burst_ns: u64,
    /// The percentile of the latency with this quota and burst, in nanoseconds.
    pub latency_ns: u64,
}

/// The result of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The percentile of the latency without any quota, in nanoseconds. None if it is not known,
    /// as in [`Tried`].
    pub without_quota_ns: Option<u64>,
    /// The smallest quota without a burst.
    pub quota: Option<Holding>,
    /// The smallest quota with a burst, and the smallest burst that it needs. None if no burst is
    /// allowed.
    pub with_burst: Option<Holding>,
    /// Why no quota was found, in one sentence.
    pub why_none: Option<String>,
    /// Number of requests in all runs of one quota.
    pub requests: usize,
    /// Number of simulations.
    pub simulations: u32,
    /// Everything that was tried, in order.
    pub tried: Vec<Tried>,
}

/// Finds the smallest quota for which a percentile of the latency stays within its target.
///
/// It bisects over simulated runs. All quotas are tried with the same requests and the same timer
/// phases (common random numbers). It does not assume that more quota is always better: larger
/// neighbours are tried too, and all larger quotas that were tried must meet the goal. A run
/// continues after its last request for the length of the target, so that each request is known
/// to have met the target or not. The load must consist of requests. `config` gives everything
/// except quota, burst and seed.
///
/// # Errors
/// If the goal, the configuration or the load is out of range, or the load has no requests.
pub fn find_quota(config: &Config, workload: &Workload, goal: &Goal) -> Result<Answer, Error> {
    goal.check()?;
    let mut plan = Plan::new(config, workload, goal)?;
    let free = plan.try_out(None, 0)?;
    let mut answer = plan.answer(free);
    if !free.holds {
        answer.why_none = Some(
            "the requests take too long even with no quota: service and queueing alone exceed the \
             target"
                .to_owned(),
        );
        return Ok(answer);
    }
    let quota = plan.least_quota(0)?;
    let with_burst = match goal.burst_ns {
        0 => None,
        most => plan.least_quota_and_burst(most)?,
    };
    let mut answer = plan.answer(free);
    if quota.is_none() && with_burst.is_none() {
        answer.why_none = Some(
            "not even a quota of all CPUs is enough, although the target holds without a quota"
                .to_owned(),
        );
    }
    Ok(Answer { quota, with_burst, ..answer })
}

/// One set of random choices: the requests and the seed.
struct World {
    load: Workload,
    config: Config,
}

struct Plan<'a> {
    goal: &'a Goal,
    worlds: Vec<World>,
    most_steps: u64,
    /// What the load needs in each period, in nanoseconds. With a smaller quota the requests queue
    /// up for ever, however few of them arrive within the run.
    needed_ns: u64,
    requests: usize,
    simulations: u32,
    tried: Vec<Tried>,
}

impl<'a> Plan<'a> {
    fn new(config: &Config, workload: &Workload, goal: &'a Goal) -> Result<Self, Error> {
        let seeds = (0..u64::from(goal.runs)).map(|run| config.seed.wrapping_add(run));
        let mut worlds = seeds
            .map(|seed| World::new(config, workload, goal, seed))
            .collect::<Result<Vec<_>, _>>()?;
        worlds.retain(|world| !world.requests().is_empty());
        let requests = worlds.iter().map(|world| world.requests().len()).sum();
        if requests == 0 {
            return Err(Error::Plan("no request arrives within the run".to_owned()));
        }
        let most = u64::from(config.cpus) * config.period_ns;
        let most_steps = (most / goal.step_ns).max(1);
        let needed_ns = match workload {
            Workload::Arrivals(_) => needed(&worlds, config.period_ns),
            // After the last request of a trace there may be none for long.
            _ => 0,
        };
        let tried = Vec::new();
        Ok(Plan { goal, worlds, most_steps, needed_ns, requests, simulations: 0, tried })
    }

    fn answer(&self, free: Tried) -> Answer {
        Answer {
            without_quota_ns: free.latency_ns,
            quota: None,
            with_burst: None,
            why_none: None,
            requests: self.requests,
            simulations: self.simulations,
            tried: self.tried.clone(),
        }
    }

    /// The smallest quota with a burst of at most `burst_ns`.
    fn least_quota(&mut self, burst_ns: u64) -> Result<Option<Holding>, Error> {
        let step = self.goal.step_ns;
        // The kernel accepts no quota below 1 ms.
        let least_steps = self.needed_ns.max(1_000_000).div_ceil(step);
        let most_steps = self.most_steps.max(least_steps);
        let found = least_holding(least_steps, most_steps, |steps| {
            let quota = steps * step;
            self.try_out(Some(quota), burst_ns.min(quota)).map(|tried| tried.holds)
        })?;
        Ok(found.and_then(|steps| self.holding(steps * step, burst_ns.min(steps * step))))
    }

    fn least_quota_and_burst(&mut self, most_ns: u64) -> Result<Option<Holding>, Error> {
        let Some(holding) = self.least_quota(most_ns)? else { return Ok(None) };
        let (quota, step) = (holding.quota_ns, self.goal.step_ns);
        let steps = holding.burst_ns / step;
        let found = least_holding(0, steps, |steps| {
            self.try_out(Some(quota), steps * step).map(|tried| tried.holds)
        })?;
        // The burst rounded down to whole steps may fail although the burst itself met the goal.
        Ok(found.and_then(|steps| self.holding(quota, steps * step)).or(Some(holding)))
    }

    fn holding(&self, quota_ns: u64, burst_ns: u64) -> Option<Holding> {
        let of = |tried: &&Tried| tried.quota_ns == quota_ns && tried.burst_ns == burst_ns;
        let latency_ns = self.tried.iter().find(of)?.latency_ns?;
        Some(Holding { quota_ns, burst_ns, latency_ns })
    }

    fn try_out(&mut self, quota_ns: Option<u64>, burst_ns: u64) -> Result<Tried, Error> {
        let mut latencies = Vec::with_capacity(self.requests);
        for world in &self.worlds {
            latencies.extend(world.run(quota_ns, burst_ns)?);
            self.simulations += 1;
        }
        let rank = (self.goal.percentile / 100.0 * latencies.len() as f64).ceil() as usize;
        let index = rank.clamp(1, latencies.len()) - 1;
        let (_, at_rank, _) = latencies.select_nth_unstable(index);
        let latency_ns = Some(*at_rank).filter(|ns| *ns != u64::MAX);
        let holds = latency_ns.is_some_and(|ns| ns <= self.goal.target_ns);
        let tried = Tried { quota_ns: quota_ns.unwrap_or(0), burst_ns, latency_ns, holds };
        if quota_ns.is_some() {
            self.tried.push(tried);
        }
        Ok(tried)
    }
}

/// The CPU time that requests need in each period, on average, in nanoseconds.
fn needed(worlds: &[World], period_ns: u64) -> u64 {
    let all = || worlds.iter().map(World::requests);
    let service: f64 = all().flatten().map(|request| request.service_ns as f64).sum();
    let span: f64 = all().filter_map(|all| all.last()).map(|last| last.at_ns as f64).sum();
    if span > 0.0 { (service / span * period_ns as f64) as u64 } else { 0 }
}

impl World {
    fn new(config: &Config, workload: &Workload, goal: &Goal, seed: u64) -> Result<Self, Error> {
        let (requests, workers) = match workload {
            Workload::Arrivals(load) => {
                workload.check(config)?;
                (load.draw(config.duration_ns, seed)?, load.workers)
            }
            Workload::Trace { requests, workers } => (requests.clone(), *workers),
            Workload::Fibtest(_) | Workload::Periodic(_) => {
                let why = "a quota can only be planned for a load of requests: arrivals or a trace";
                return Err(Error::Plan(why.to_owned()));
            }
        };
        let last = requests.last().map_or(0, |request| request.at_ns);
        let duration_ns = last.saturating_add(goal.target_ns).saturating_add(1);
        let config = Config { seed, duration_ns, quota_ns: None, burst_ns: 0, ..config.clone() };
        Ok(World { load: Workload::Trace { requests, workers }, config })
    }

    fn requests(&self) -> &[Request] {
        match &self.load {
            Workload::Trace { requests, .. } => requests,
            _ => &[],
        }
    }

    /// Latencies of all requests, in nanoseconds; `u64::MAX` for requests that were not finished
    /// in time.
    fn run(
        &self,
        quota_ns: Option<u64>,
        burst_ns: u64,
    ) -> Result<impl Iterator<Item = u64>, Error> {
        let config = Config { quota_ns, burst_ns, ..self.config.clone() };
        let (_, done_at) = simulate_requests(&config, &self.load)?;
        let latency = |(request, done): (&Request, u64)| match done {
            0 => u64::MAX,
            done => done - request.at_ns,
        };
        Ok(self.requests().iter().zip(done_at).map(latency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{Arrivals, Service};
    use crate::era::Era;

    const MS: u64 = 1_000_000;

    fn load() -> Workload {
        Workload::Arrivals(Arrivals {
            mean_gap_ns: 2 * MS,
            bursts: None,
            service: Service::Exponential { mean_ns: MS },
            workers: 4,
        })
    }

    fn config() -> Config {
        Config { duration_ns: 2_000 * MS, ..Config::new(2, Era::G) }
    }

    #[test]
    fn a_quota_below_the_demand_is_not_enough_however_late_requests_may_be() {
        let load = Workload::Arrivals(Arrivals {
            mean_gap_ns: MS,
            bursts: None,
            service: Service::Fixed(MS * 4 / 5),
            workers: 4,
        });
        let config = Config { duration_ns: 5_000 * MS, ..Config::new(4, Era::G) };
        let found = find_quota(&config, &load, &Goal::new(50.0, 500 * MS)).unwrap().quota.unwrap();
        // The demand is 80 ms in each 100 ms.
        assert!((75 * MS..100 * MS).contains(&found.quota_ns), "{found:?}");
    }

    #[test]
    fn the_quota_found_holds_and_the_next_smaller_does_not() {
        let goal = Goal::new(99.0, 20 * MS);
        let answer = find_quota(&config(), &load(), &goal).unwrap();
        let found = answer.quota.unwrap();
        assert!(found.latency_ns <= 20 * MS);
        // The mean demand is half a CPU, so less than 50 ms per 100 ms cannot be enough.
        assert!((50 * MS..200 * MS).contains(&found.quota_ns), "{found:?}");
        let below = answer.tried.iter().filter(|t| t.quota_ns == found.quota_ns - MS);
        assert!(below.clone().count() > 0 && below.clone().all(|tried| !tried.holds));
        assert!(answer.tried.iter().all(|t| t.holds || t.quota_ns < found.quota_ns));
        assert_eq!(answer.simulations as usize, 4 * (answer.tried.len() + 1));
        assert_eq!(find_quota(&config(), &load(), &goal), Ok(answer));
    }

    #[test]
    fn a_burst_never_asks_for_more_quota() {
        let goal = Goal { burst_ns: 50 * MS, ..Goal::new(99.0, 20 * MS) };
        let answer = find_quota(&config(), &load(), &goal).unwrap();
        let (without, with) = (answer.quota.unwrap(), answer.with_burst.unwrap());
        assert!(with.quota_ns < without.quota_ns, "{with:?} {without:?}");
        assert!(with.burst_ns > 0 && with.burst_ns <= 50 * MS);
    }

    #[test]
    fn where_service_alone_is_too_slow_no_quota_helps() {
        let answer = find_quota(&config(), &load(), &Goal::new(99.0, 100_000)).unwrap();
        assert!(answer.quota.is_none() && answer.why_none.unwrap().contains("no quota"));
        assert_eq!(answer.simulations, 4);
    }

    #[test]
    fn a_senseless_goal_is_refused() {
        let with = |goal: Goal| find_quota(&config(), &load(), &goal);
        for goal in [
            Goal::new(0.0, MS),
            Goal::new(100.1, MS),
            Goal::new(f64::NAN, MS),
            Goal::new(99.0, 0),
            Goal { step_ns: 0, ..Goal::new(99.0, MS) },
            Goal { runs: 0, ..Goal::new(99.0, MS) },
        ] {
            assert!(matches!(with(goal), Err(Error::Plan(_))));
        }
        let fibtest = Workload::Fibtest(crate::Fibtest::new(2));
        assert!(find_quota(&config(), &fibtest, &Goal::new(99.0, MS)).is_err());
    }
}
