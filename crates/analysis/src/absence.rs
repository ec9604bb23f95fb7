//! Time in which the measured thread had no CPU.

use model::record::Plan;
use model::{Measure, Trial, Unit};

/// For how long the measured thread of a hung trial may have had no CPU before that explains the
/// hang, in milliseconds a second.
pub const MOST_ABSENT_IN_HANG_MS_PER_S: f64 = 500.0;

/// Time for which the measured thread of a trial had no CPU, in milliseconds a second, if this
/// time can be part of the judged figure. It is 0 if the judged figure is not time that this
/// thread lost.
///
/// It is a sum: the thread's own wait in the run queue, throttling by a quota around tailback,
/// and the time that the hypervisor took from the CPU from which it took most.
pub fn cpu_absent_ms_per_s(plan: &Plan, trial: &Trial) -> f64 {
    let judged: Option<&Measure> = trial.observation.measures.get(plan.judging.measure.as_ref());
    let is_time_lost = judged.is_none_or(|m| m.unit == Unit::MillisecondsPerSecond);
    if !plan.judging.wants_cpu || !is_time_lost {
        return 0.0;
    }
    let disturbance = &trial.disturbance;
    let window = trial.observation.window_ms;
    let rate = |ms: Option<f64>, over: f64| match ms {
        Some(ms) if over > 0.0 => (ms / over * 1e3).clamp(0.0, 1e3),
        _ => 0.0,
    };
    let own = rate(disturbance.run_delay_ms, window);
    let quota = rate(disturbance.enclosing_throttled_ms, over_ms(trial));
    let steal = (worst_steal(trial).unwrap_or(0.0) * 1e3).clamp(0.0, 1e3);
    (own + quota + steal).min(1e3)
}

/// The time over which the disturbance of a trial was measured, in milliseconds.
fn over_ms(trial: &Trial) -> f64 {
    trial.disturbance.over_ms.unwrap_or(trial.observation.window_ms)
}

/// The largest share of one CPU's time that the hypervisor took.
pub(crate) fn worst_steal(trial: &Trial) -> Option<f64> {
    let over = over_ms(trial);
    let worst = trial.disturbance.steal_by_cpu.iter().map(|cpu| cpu.ms).reduce(f64::max);
    // Older records have only the sum. In the worst case all of it came from one CPU.
    let worst = worst.or(trial.disturbance.steal_ms).filter(|ms| ms.is_finite())?;
    (over > 0.0).then(|| (worst / over).clamp(0.0, 1.0))
}
