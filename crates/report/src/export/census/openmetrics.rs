//! A census as gauges. Their number depends only on the number of scenarios, not on the number of
//! hosts.

use super::super::family::{Family, Labels, write};
use crate::prose::plain;
use model::Census;
use model::census::{Counts, ScenarioCensus, Telling, Why};
use serde_json::Value;

/// The gauges of a census.
pub(super) fn openmetrics(census: &Census) -> String {
    write(families(census))
}

fn families(census: &Census) -> Vec<Family> {
    let of = |name, help, samples: fn(&ScenarioCensus) -> Vec<(Labels, f64)>| {
        Family::gauge(name, help, census.scenarios.iter().flat_map(samples).collect())
    };
    let one = |name, help, value: u64| Family::gauge(name, help, vec![(Vec::new(), value as f64)]);
    let missing = census.unreachable.as_ref().map(|hosts| {
        one("tailback_census_unreachable_hosts", "Hosts without a record", hosts.count)
    });
    let mut all = vec![
        one("tailback_census_hosts", "Hosts with a record that counts", census.hosts),
        one("tailback_census_kinds", "Kinds of hosts", census.kinds),
    ];
    all.extend(missing);
    all.extend([
        of("tailback_census_answers", "Hosts by their answer to a scenario", answers),
        of(
            "tailback_census_affected_share",
            "Share of affected hosts among the hosts with a settled answer",
            |one| share(one, |share| Some(share.affected as f64 / share.of.max(1) as f64)),
        ),
        of(
            "tailback_census_affected_share_least",
            "Share of this fleet that is affected if no undecided host is affected",
            |one| share(one, |share| Some(share.least)),
        ),
        of(
            "tailback_census_affected_share_most",
            "Share of this fleet that is affected if every undecided host is affected",
            |one| share(one, |share| Some(share.most)),
        ),
        of(
            "tailback_census_affected_share_low",
            "Lower end of the interval for fleets like this one",
            |one| share(one, |share| share.low),
        ),
        of(
            "tailback_census_affected_share_high",
            "Upper end of the interval for fleets like this one",
            |one| share(one, |share| share.high),
        ),
        of(
            "tailback_census_condition_p_value",
            "How often chance separates affected and clear hosts as well as this condition does",
            conditions,
        ),
        of(
            "tailback_census_odd_hosts",
            "Hosts whose answer differs from that of their kind",
            |one| vec![(scenario(one), one.odd.as_ref().map_or(0.0, |odd| odd.count as f64))],
        ),
        Family::gauge(
            "tailback_census_set_aside",
            "Records that do not count, or count with a doubt",
            census.set_aside.iter().map(|one| (reason(one.why), one.count as f64)).collect(),
        ),
    ]);
    all
}

fn scenario(one: &ScenarioCensus) -> Labels {
    vec![("scenario", plain(&one.scenario))]
}

/// The label values are the words of the census JSON.
fn answers(one: &ScenarioCensus) -> Vec<(Labels, f64)> {
    let Counts { affected, clear, inconclusive, untrustworthy, skipped, not_measured, unreachable } =
        one.hosts;
    let each = [
        ("affected", affected),
        ("not-affected", clear),
        ("inconclusive", inconclusive),
        ("untrustworthy", untrustworthy),
        ("skipped", skipped),
        ("not-measured", not_measured),
        ("unreachable", unreachable),
    ];
    let sample = |(state, count): (&str, u64)| {
        let mut labels = scenario(one);
        labels.push(("state", state.to_owned()));
        (labels, count as f64)
    };
    each.map(sample).into()
}

fn share(one: &ScenarioCensus, of: fn(&model::census::Share) -> Option<f64>) -> Vec<(Labels, f64)> {
    let value = one.share.as_ref().and_then(of);
    value.map(|value| (scenario(one), value)).into_iter().collect()
}

fn conditions(one: &ScenarioCensus) -> Vec<(Labels, f64)> {
    let Telling::Conditions(found) = &one.apart else { return Vec::new() };
    let sample = |condition: &model::census::Condition| {
        let mut labels = scenario(one);
        labels.push(("factor", word(serde_json::to_value(condition.cut.factor))));
        labels.push(("side", word(serde_json::to_value(condition.cut.side))));
        labels.push(("level", plain(&condition.cut.level)));
        (labels, condition.p_value)
    };
    found.all.iter().map(sample).collect()
}

fn reason(why: Why) -> Labels {
    vec![("why", word(serde_json::to_value(why)))]
}

/// A value as it is written in the JSON.
fn word(of: serde_json::Result<Value>) -> String {
    match of {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}
