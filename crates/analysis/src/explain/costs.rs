//! What the probes cost, from a trial with probes and the trials without them.

use super::times::sum;
use model::Judged;
use model::explanation::{Cost, Rate};
use model::record::{ProbeCost, Probed};

/// What the probes cost and lost; `None` if no trial had probes.
pub(super) fn cost(record: &Judged) -> Option<Cost> {
    if record.probed.is_empty() {
        return None;
    }
    let control = record.control().map(|arm| arm.id.as_str());
    let of_control = record.probed.iter().filter(|p| Some(p.trial.arm.as_str()) == control);
    let evidence = record.probed.iter().filter_map(|p| p.trial.observation.evidence.as_ref());
    Some(Cost {
        rates: of_control.flat_map(rates).collect(),
        lost_events: sum(evidence.map(|evidence| evidence.lost_events)),
    })
}

/// The figures that show how fast the work went: rates that are also measured without probes.
/// Rates of context switches are left out, because they are not work.
fn rates(probed: &Probed) -> impl Iterator<Item = Rate> {
    let is_rate = |cost: &&ProbeCost| cost.unit == model::Unit::PerSecond && cost.without > 0.0;
    let is_work = |cost: &&ProbeCost| !cost.measure.starts_with("switches");
    let costs = probed.cost.iter().filter(is_rate).filter(is_work);
    costs.map(|cost| rate(&probed.trial.arm, cost))
}

fn rate(arm: &str, cost: &ProbeCost) -> Rate {
    let ProbeCost { measure, with, without, range, unit } = cost;
    Rate {
        arm: arm.to_owned(),
        measure: measure.clone(),
        unit: *unit,
        with: *with,
        without: *without,
        range: *range,
        change_percent: 100.0 * (with - without) / without,
        within_range: (range.0..=range.1).contains(with),
    }
}
