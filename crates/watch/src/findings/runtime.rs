//! Runtimes that use a quota up with more threads at work at once than it allows.

use crate::limits::AT_ONCE;
use crate::sums::GroupSums;
use model::live::{LiveRuntime, QuotaCause, QuotaFinding};
use model::suggestion::{Command, Run};
use scenarios::params::{Auto, Params, Time};
use scenarios::quota_blind::{META, QuotaBlindParams, Runtime};

/// The facts of a quota that was used up, told apart where it was a runtime by its many threads.
pub fn told_apart(
    facts: QuotaFinding,
    counted: &GroupSums,
    runtime: Option<LiveRuntime>,
) -> QuotaFinding {
    match runtime.filter(|_| facts.cause == QuotaCause::UsedUp && at_once(&facts, counted)) {
        Some(runtime) => QuotaFinding { cause: QuotaCause::Runtime(runtime), ..facts },
        None => facts,
    }
}

/// Whether more threads than the quota allows were at work at once: as many threads as that use it
/// up no earlier, and then stand still for the rest of the period at most.
fn at_once(facts: &QuotaFinding, counted: &GroupSums) -> bool {
    let gained = &counted.gained;
    let (Some(held_ns), Some(periods)) = (gained.throttled_ns, gained.nr_throttled) else {
        return false;
    };
    let cpus = whole_cpus(facts);
    let rest_us = facts.period_us.saturating_sub(facts.quota_us / u64::from(cpus.max(1)));
    let most_us = rest_us.saturating_mul(u64::from(cpus));
    let each_us = held_ns as f64 / 1e3 / (periods as f64).max(1.0);
    periods > 0 && facts.threads > cpus && each_us > most_us as f64 * AT_ONCE
}

/// The whole CPUs that a quota comes to.
pub fn whole_cpus(facts: &QuotaFinding) -> u32 {
    u32::try_from(facts.quota_us.div_ceil(facts.period_us.max(1))).unwrap_or(u32::MAX)
}

/// The same in the lab: the same runtime under the same quota.
pub fn run(runtime: LiveRuntime, facts: &QuotaFinding) -> Run {
    let usual = QuotaBlindParams::default();
    let runtime = match runtime {
        LiveRuntime::Jvm => Runtime::Jvm,
        LiveRuntime::Node => Runtime::Node,
        LiveRuntime::Go => Runtime::Go,
        LiveRuntime::Beam => Runtime::Beam,
    };
    let written = format!("{}/{}", Time::us(facts.quota_us), Time::us(facts.period_us));
    let quota = written.parse().unwrap_or(usual.quota);
    let params = QuotaBlindParams { runtime: Auto::Is(runtime), quota, ..usual.clone() };
    let parameters = params.settings().differing(&usual.settings());
    Run { command: Command::Run, scenario: META.id.to_owned(), parameters }
}
