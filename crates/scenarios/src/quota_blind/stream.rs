//! The stream of requests: a generator of this scenario that runs outside the group. It starts a
//! worker and sends it small requests at a steady rate, and sometimes a job in parts.

use super::worker::{self, Start, Worker, failure};
use load::protocol::{Failure, FailureKind};
use load::{OwnGenerator, Work, histogram};
use os::time;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Sends requests and measures the times of the answers.
pub(super) const REQUESTS: OwnGenerator = OwnGenerator { name: "runtime-requests", prepare };

/// Requests before a trial, one after the other. They make the runtime compile code and start
/// threads.
const WARM_UP: u32 = 50;

/// How long each of them may take.
const WARM_UP_LIMIT: Duration = Duration::from_secs(20);

/// How long requests may take after the end of the trial before they count as not done.
const DRAIN: Duration = Duration::from_secs(3);

/// CPU time of a part of a job, in milliseconds.
pub(super) const PART_MS: f64 = 0.5;

/// Least duration of a piece of work that is used to measure speed.
const PIECE: Duration = Duration::from_millis(20);

/// How often this is repeated. The fastest run counts, because anything may interrupt the others.
const PIECES: u32 = 8;

/// The most rounds in one request.
const MOST_ROUNDS: u32 = 2_000_000_000;

/// The input of the generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Spec {
    /// How to start the runtime.
    pub runtime: Start,
    /// The task of the runtime.
    pub asked: Asked,
}

/// The task of a runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Asked {
    /// Report the number of rounds of each kind of work per millisecond.
    Speed,
    /// Serve this stream of requests.
    Serve(Plan),
}

/// The report of the generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// Rounds per millisecond: of requests, and of jobs.
    Speed([u32; 2]),
    /// How the stream was served.
    Served(Report),
}

/// The stream of requests of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Requests per second.
    pub rate: u32,
    /// Rounds per request.
    pub request_rounds: u32,
    /// Parts per job.
    pub parts: u32,
    /// Rounds per part.
    pub part_rounds: u32,
    /// Time between the starts of two jobs, in nanoseconds.
    pub every_ns: u64,
    /// Start of the first job, in nanoseconds.
    pub first_ns: u64,
    /// How long requests arrive, in nanoseconds.
    pub duration_ns: u64,
}

/// The result of serving a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// Time from the first request to the last answer, in nanoseconds.
    pub window_ns: u64,
    /// Latencies of requests, from the time at which they were due. Includes the waiting times of
    /// requests without an answer: HdrHistogram V2, base64.
    pub latencies: String,
    /// Number of requests without an answer.
    pub waiting: u64,
    /// Durations of jobs, in nanoseconds.
    pub jobs_ns: Vec<u64>,
    /// Number of CPUs that the runtime reports.
    pub cpus: u32,
    /// Number of threads of its process at the end.
    pub threads: Option<u32>,
    /// Version of the runtime.
    pub release: String,
}

fn prepare(spec: Value) -> Result<Work, Failure> {
    let spec: Spec =
        serde_json::from_value(spec).map_err(|error| failure(FailureKind::Unusable, error))?;
    let mut worker = Worker::start(worker::launcher(&spec.runtime)?)?;
    if let Asked::Serve(plan) = &spec.asked {
        warm_up(&mut worker, plan)?;
    }
    Ok(Box::new(move || {
        let answer = match &spec.asked {
            Asked::Speed => Answer::Speed(speed(&mut worker)?),
            Asked::Serve(plan) => Answer::Served(serve(&mut worker, plan)?),
        };
        serde_json::to_value(answer).map_err(|error| failure(FailureKind::System, error))
    }))
}

/// A request or a job, and when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    at_ns: u64,
    is_job: bool,
}

/// Everything that is due in a trial, in order of time.
fn schedule(plan: &Plan) -> Vec<Due> {
    let steps = |from: u64, step: u64| {
        let step = step.max(1);
        (0..).map(move |n: u64| from.saturating_add(n.saturating_mul(step)))
    };
    let until = |at: &u64| *at < plan.duration_ns;
    let interval = 1_000_000_000 / u64::from(plan.rate.max(1));
    let requests = steps(0, interval).take_while(until).map(|at_ns| Due { at_ns, is_job: false });
    let jobs = steps(plan.first_ns, plan.every_ns).take_while(until);
    let mut all: Vec<Due> = requests.chain(jobs.map(|at_ns| Due { at_ns, is_job: true })).collect();
    all.sort_by_key(|due| due.at_ns);
    all
}

/// Lets the worker do each kind of work before the measurement.
pub(super) fn warm_up(worker: &mut Worker, plan: &Plan) -> Result<(), Failure> {
    for _ in 0..WARM_UP {
        once(worker, &request(0, plan.request_rounds))?;
    }
    // It has as many parts as a job, so that all threads of a pool are started, but little work.
    once(worker, &job(0, plan.parts, plan.part_rounds / 10 + 1)).map(drop)
}

fn request(id: usize, rounds: u32) -> String {
    format!("r {id} {rounds}\n")
}

fn job(id: usize, parts: u32, rounds: u32) -> String {
    format!("b {id} {parts} {rounds}\n")
}

/// Sends one line and waits for its answer. Returns how long that took.
fn once(worker: &mut Worker, line: &str) -> Result<Duration, Failure> {
    let began = Instant::now();
    worker.send(line)?;
    match worker.line(began + WARM_UP_LIMIT)? {
        Some(_) => Ok(began.elapsed()),
        None => {
            let why = format!("it did not answer its first requests within {WARM_UP_LIMIT:?}");
            Err(failure(FailureKind::System, why))
        }
    }
}

/// Number of rounds that the worker does per millisecond: of requests, and of jobs.
pub(super) fn speed(worker: &mut Worker) -> Result<[u32; 2], Failure> {
    let mut of = |line: &dyn Fn(u32) -> String| -> Result<u32, Failure> {
        let mut rounds = 10_000;
        let mut grown = 0;
        // Twice, because a just-in-time compiler makes the first rounds slow.
        while grown < 2 {
            while once(worker, &line(rounds))? < PIECE && rounds < MOST_ROUNDS / 2 {
                rounds *= 2;
            }
            grown += 1;
        }
        let mut best = Duration::MAX;
        for _ in 0..PIECES {
            best = best.min(once(worker, &line(rounds))?);
        }
        let a_ms = f64::from(rounds) / time::ms(best).max(1e-6);
        Ok((a_ms.round() as u32).max(1))
    };
    Ok([of(&|rounds| request(0, rounds))?, of(&|rounds| job(0, 1, rounds))?])
}

/// Sends each request and job when it is due, and measures the times of the answers.
pub(super) fn serve(worker: &mut Worker, plan: &Plan) -> Result<Report, Failure> {
    let all = schedule(plan);
    let mut latencies = histogram::empty();
    let mut jobs_ns = Vec::new();
    let mut open: HashMap<usize, Due> = HashMap::new();
    let began = Instant::now();
    let end = began + Duration::from_nanos(plan.duration_ns) + DRAIN;
    let mut next = 0;
    while next < all.len() || !open.is_empty() {
        let now_ns = time::whole_ns(began.elapsed());
        while let Some(due) = all.get(next).filter(|due| due.at_ns <= now_ns) {
            worker.send(&match due.is_job {
                true => job(next, plan.parts, plan.part_rounds),
                false => request(next, plan.request_rounds),
            })?;
            open.insert(next, *due);
            next += 1;
        }
        let until = all.get(next).map_or(end, |due| began + Duration::from_nanos(due.at_ns));
        let Some(line) = worker.line(until)? else {
            if Instant::now() >= end {
                break;
            }
            continue;
        };
        let id = line.parse().ok().and_then(|id: usize| open.remove(&id));
        // An answer without a request is ignored.
        let Some(due) = id else { continue };
        let took_ns = time::whole_ns(began.elapsed()).saturating_sub(due.at_ns);
        match due.is_job {
            true => jobs_ns.push(took_ns),
            false => histogram::record(&mut latencies, took_ns),
        }
    }
    let window_ns = time::whole_ns(began.elapsed());
    let late: Vec<&Due> = open.values().filter(|due| !due.is_job).collect();
    late.iter().for_each(|due| histogram::record(&mut latencies, window_ns - due.at_ns));
    Ok(Report {
        window_ns,
        waiting: late.len() as u64,
        latencies: histogram::encode(&latencies),
        jobs_ns,
        cpus: worker.cpus,
        threads: worker.threads(),
        release: worker.release.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const ECHO: &str = "echo ready 1 v1; while read kind id rest; do echo \"$id\"; done";

    fn plan() -> Plan {
        Plan {
            rate: 100,
            request_rounds: 1,
            parts: 3,
            part_rounds: 1,
            every_ns: 40_000_000,
            first_ns: 5_000_000,
            duration_ns: 100_000_000,
        }
    }

    #[test]
    fn requests_come_at_a_steady_rate_and_jobs_between_them() {
        let all = schedule(&plan());
        assert_eq!(all.iter().filter(|due| !due.is_job).count(), 10);
        let jobs: Vec<u64> = all.iter().filter(|due| due.is_job).map(|due| due.at_ns).collect();
        assert_eq!(jobs, [5_000_000, 45_000_000, 85_000_000]);
        assert!(all.is_sorted_by_key(|due| due.at_ns));
    }

    #[test]
    fn every_request_is_timed() {
        let mut command = Command::new("sh");
        command.args(["-c", ECHO]);
        let mut worker = Worker::start(command).unwrap();
        warm_up(&mut worker, &plan()).unwrap();
        let report = serve(&mut worker, &plan()).unwrap();
        assert_eq!((report.waiting, report.jobs_ns.len()), (0, 3));
        assert_eq!(histogram::decode(&report.latencies).unwrap().len(), 10);
        assert!(report.window_ns >= 90_000_000, "{report:?}");
    }

    #[test]
    fn a_worker_that_answers_in_no_time_is_no_trap() {
        let mut command = Command::new("sh");
        command.args(["-c", ECHO]);
        let speed = speed(&mut Worker::start(command).unwrap()).unwrap();
        assert!(speed.iter().all(|rounds| *rounds > 0), "{speed:?}");
    }
}
