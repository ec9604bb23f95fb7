//! Random request arrivals. They are drawn before the run, so that they are the same under every
//! quota.

use crate::error::Error;
use crate::request::{LONGEST_NS, Request, require};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Most requests in a run.
pub(crate) const MOST_REQUESTS: usize = 10_000_000;

/// Random stream for the arrivals, separate from the scheduler's streams.
const STREAM: u64 = 1;

/// Open-loop arrivals: requests come whether or not earlier ones are finished.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arrivals {
    /// Mean time between two requests of a Poisson process, in nanoseconds.
    pub mean_gap_ns: u64,
    /// Additional bursts.
    pub bursts: Option<Bursts>,
    /// CPU time of a request.
    pub service: Service,
    /// Threads that serve the requests. Each serves one request at a time, on any free CPU.
    pub workers: u32,
}

/// Bursts of several simultaneous requests, at the times of a separate Poisson process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bursts {
    /// Mean time between two bursts, in nanoseconds.
    pub mean_gap_ns: u64,
    /// Requests in a burst.
    pub size: u32,
}

/// CPU time of a request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Service {
    /// A constant time, in nanoseconds.
    Fixed(u64),
    /// An exponential distribution.
    Exponential {
        /// Mean, in nanoseconds.
        mean_ns: u64,
    },
    /// A log-normal distribution: most requests are short, some are very long.
    LogNormal {
        /// Median, in nanoseconds.
        median_ns: u64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Arrivals {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let span = |ns: u64| (1..=LONGEST_NS).contains(&ns);
        require(span(self.mean_gap_ns), || {
            "the mean time between requests has to be between 1 ns and an hour".to_owned()
        })?;
        require(self.bursts.is_none_or(|b| span(b.mean_gap_ns) && b.size > 0), || {
            "bursts need a size, and a mean time between them of 1 ns to an hour".to_owned()
        })?;
        let service_holds = match self.service {
            Service::Fixed(ns) | Service::Exponential { mean_ns: ns } => span(ns),
            Service::LogNormal { median_ns, sigma } => {
                span(median_ns) && sigma.is_finite() && (0.0..=5.0).contains(&sigma)
            }
        };
        require(service_holds, || {
            "a service time has to be between 1 ns and an hour, its sigma between 0 and 5"
                .to_owned()
        })
    }

    /// Draws the requests that arrive within `duration_ns`, in order of arrival.
    ///
    /// # Errors
    /// If there would be too many.
    pub(crate) fn draw(&self, duration_ns: u64, seed: u64) -> Result<Vec<Request>, Error> {
        let per_request = |gap: u64| duration_ns as f64 / gap as f64;
        let bursts = self.bursts.map_or(0.0, |b| per_request(b.mean_gap_ns) * f64::from(b.size));
        let expected = per_request(self.mean_gap_ns) + bursts;
        require(expected <= MOST_REQUESTS as f64 * 0.9, || {
            format!("about {expected:.0} requests: a run can have at most {MOST_REQUESTS}")
        })?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(STREAM);
        let mut requests = Vec::with_capacity(expected as usize + 16);
        self.poisson(&mut rng, duration_ns, self.mean_gap_ns, 1, &mut requests);
        if let Some(bursts) = self.bursts {
            self.poisson(&mut rng, duration_ns, bursts.mean_gap_ns, bursts.size, &mut requests);
        }
        requests.sort_by_key(|request| request.at_ns);
        requests.truncate(MOST_REQUESTS);
        Ok(requests)
    }

    fn poisson(
        &self,
        rng: &mut ChaCha8Rng,
        duration_ns: u64,
        mean_gap_ns: u64,
        size: u32,
        requests: &mut Vec<Request>,
    ) {
        let mut at = 0.0;
        loop {
            at += exponential(rng, mean_gap_ns);
            if at > duration_ns as f64 {
                return;
            }
            for _ in 0..size {
                let service_ns = self.service.draw(rng);
                requests.push(Request { at_ns: at as u64, service_ns });
            }
        }
    }
}

impl Service {
    fn draw(self, rng: &mut ChaCha8Rng) -> u64 {
        let ns = match self {
            Service::Fixed(ns) => return ns,
            Service::Exponential { mean_ns } => exponential(rng, mean_ns),
            Service::LogNormal { median_ns, sigma } => {
                median_ns as f64 * (sigma * standard_normal(rng)).exp()
            }
        };
        (ns as u64).clamp(1, LONGEST_NS)
    }
}

/// An exponential random number, by inversion.
fn exponential(rng: &mut ChaCha8Rng, mean_ns: u64) -> f64 {
    -(1.0 - rng.random::<f64>()).ln() * mean_ns as f64
}

/// A standard normal random number, by Box and Muller (Annals of Mathematical Statistics 29,
/// 1958).
fn standard_normal(rng: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn arrivals(service: Service) -> Arrivals {
        Arrivals { mean_gap_ns: 100_000, bursts: None, service, workers: 4 }
    }

    fn mean(values: impl Iterator<Item = u64>) -> f64 {
        let (sum, count) = values.fold((0.0, 0.0), |(s, n), v| (s + v as f64, n + 1.0));
        sum / count
    }

    #[test]
    fn the_draws_have_the_moments_asked_for() {
        let load = arrivals(Service::Exponential { mean_ns: 50_000 });
        let requests = load.draw(10 * SECOND, 7).unwrap();
        // 100,000 requests are expected, with a standard deviation of 316; the limits are five of
        // these.
        assert!((98_400..=101_600).contains(&requests.len()), "{}", requests.len());
        let served = mean(requests.iter().map(|request| request.service_ns));
        assert!((49_000.0..51_000.0).contains(&served), "{served}");
        assert!(requests.is_sorted_by_key(|request| request.at_ns));
        let log_normal = arrivals(Service::LogNormal { median_ns: 50_000, sigma: 1.0 });
        let requests = log_normal.draw(10 * SECOND, 7).unwrap();
        let below = requests.iter().filter(|request| request.service_ns < 50_000).count();
        assert!((0.49..0.51).contains(&(below as f64 / requests.len() as f64)));
    }

    #[test]
    fn bursts_come_at_once() {
        let bursts = Some(Bursts { mean_gap_ns: SECOND / 10, size: 20 });
        let load = Arrivals { bursts, mean_gap_ns: SECOND, ..arrivals(Service::Fixed(1)) };
        let requests = load.draw(10 * SECOND, 3).unwrap();
        let at_once = requests.chunk_by(|a, b| a.at_ns == b.at_ns).filter(|c| c.len() >= 20);
        assert!(at_once.count() > 60);
    }

    #[test]
    fn too_many_or_senseless_arrivals_are_refused() {
        let load = arrivals(Service::Fixed(1));
        assert!(load.draw(3_600 * SECOND, 1).is_err());
        for load in [
            Arrivals { mean_gap_ns: 0, ..load.clone() },
            Arrivals { bursts: Some(Bursts { mean_gap_ns: 1, size: 0 }), ..load.clone() },
            Arrivals { service: Service::Fixed(0), ..load.clone() },
            Arrivals { service: Service::LogNormal { median_ns: 1, sigma: f64::NAN }, ..load },
        ] {
            assert!(load.check().is_err(), "{load:?}");
        }
    }
}
