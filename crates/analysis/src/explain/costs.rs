//! What the probes cost, from a trial with them and those without.

use model::Record;
use model::record::{ProbeCost, Probed};

/// What the probes cost and lost, a sentence each.
pub(super) fn costs(record: &Record) -> Vec<String> {
    let control = record.control().map(|arm| arm.id.as_str());
    let mut sentences: Vec<String> = record
        .probed
        .iter()
        .filter(|probed| Some(probed.trial.arm.as_str()) == control)
        .flat_map(|probed| rates(probed).map(|cost| sentence(&probed.trial.arm, cost)))
        .collect();
    let lost: u64 = record
        .probed
        .iter()
        .filter_map(|probed| probed.trial.observation.evidence.as_ref())
        .map(|evidence| evidence.lost_events)
        .sum();
    if !record.probed.is_empty() {
        sentences.push(format!("{lost} events were lost"));
    }
    sentences
}

/// The figures that tell how fast the work went: rates that are there without probes too, but for
/// those of switches, which are no work.
fn rates(probed: &Probed) -> impl Iterator<Item = &ProbeCost> {
    let is_rate = |cost: &&ProbeCost| cost.unit == model::Unit::PerSecond && cost.without > 0.0;
    let is_work = |cost: &&ProbeCost| !cost.measure.starts_with("switches");
    probed.cost.iter().filter(is_rate).filter(is_work)
}

fn sentence(arm: &str, cost: &ProbeCost) -> String {
    let ProbeCost { measure, with, without, range: (least, most), unit } = cost;
    let change = 100.0 * (with - without) / without;
    let number = model::estimate::number;
    let within = match (least..=most).contains(&with) {
        true => "within what trials without them differ by",
        false => "beyond what trials without them differ by",
    };
    format!(
        "{arm} with probes: {measure} {} {}, without {} [{}, {}]: {change:+.1}%, {within}",
        number(*with),
        unit.symbol(),
        number(*without),
        number(*least),
        number(*most)
    )
}
