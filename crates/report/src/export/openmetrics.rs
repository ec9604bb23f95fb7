//! Verdicts and medians as gauges, for the textfile collector of Prometheus' node_exporter.
//!
//! Only gauges: the collector also reads the older text format, which has no other suitable type.
//! It accepts no metric with a timestamp.

use super::family::{Family, Labels, write};
use super::live;
use super::names::Names;
use crate::prose::plain;
use model::{ArmResult, Estimate, Judged, State};
use std::collections::BTreeSet;

/// Writes the verdict of each record and the medians of its arms with their intervals.
///
/// If several records have the same scenario, the last one counts: a metric has one value.
pub fn openmetrics(records: &[&Judged]) -> String {
    let last = last_of_each(records);
    let mut all = families(&last);
    if let Some(seen) = last.iter().rev().find_map(|record| record.live.as_ref()) {
        all.extend(live::families(seen, &mut Names::unbounded()));
    }
    write(all)
}

fn last_of_each<'a>(records: &[&'a Judged]) -> Vec<&'a Judged> {
    let mut seen = BTreeSet::new();
    let mut last: Vec<&Judged> =
        records.iter().rev().copied().filter(|record| seen.insert(&record.scenario)).collect();
    last.reverse();
    last
}

fn families(records: &[&Judged]) -> Vec<Family> {
    let of = |name, help, samples: fn(&Judged) -> Vec<(Labels, f64)>| {
        Family::gauge(name, help, records.iter().flat_map(|record| samples(record)).collect())
    };
    vec![
        of("tailback_verdict", "Verdict of a scenario: 1 for the verdict that holds", verdicts),
        of("tailback_trials", "Trials of an arm", |record| counts(record, |arm| arm.trials)),
        of("tailback_hung_trials", "Trials of an arm that hung", |record| {
            counts(record, |arm| arm.hangs.count)
        }),
        of("tailback_median", "Median of a figure over the trials of an arm", |record| {
            estimates(record, |estimate| Some(estimate.median))
        }),
        of("tailback_median_low", "Lower end of the interval of the median", |record| {
            estimates(record, |estimate| estimate.low)
        }),
        of("tailback_median_high", "Upper end of the interval of the median", |record| {
            estimates(record, |e| e.high.or(e.high_unbounded.then_some(f64::INFINITY)))
        }),
        of("tailback_study_seconds", "Time that the study took, in seconds", |record| {
            vec![(vec![("scenario", plain(&record.scenario))], record.elapsed_s)]
        }),
    ]
}

fn verdicts(record: &Judged) -> Vec<(Labels, f64)> {
    let sample = |state: State| {
        let labels =
            vec![("scenario", plain(&record.scenario)), ("state", state.word().to_owned())];
        (labels, f64::from(u8::from(record.judgement.state == state)))
    };
    State::ALL.map(sample).into()
}

fn of_arm(record: &Judged, arm: &str) -> Labels {
    vec![("scenario", plain(&record.scenario)), ("arm", plain(arm))]
}

fn counts(record: &Judged, count: fn(&ArmResult) -> u32) -> Vec<(Labels, f64)> {
    let arms = record.judgement.arms.iter();
    arms.map(|arm| (of_arm(record, &arm.id), f64::from(count(arm)))).collect()
}

fn estimates(record: &Judged, end: fn(&Estimate) -> Option<f64>) -> Vec<(Labels, f64)> {
    let all =
        record.judgement.arms.iter().flat_map(|arm| arm.measures.iter().map(move |m| (arm, m)));
    all.filter_map(|(arm, (name, estimate))| {
        let mut labels = of_arm(record, &arm.id);
        labels.push(("measure", plain(name)));
        labels.push(("unit", estimate.unit.symbol().to_owned()));
        Some((labels, end(estimate)?))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn every_line_is_a_sample_or_a_comment_whatever_a_record_says() {
        let mut record = testing::record();
        record.judgement.arms[1].id = "a\"} 1\ntailback_evil 1 \\".to_owned();
        let text = openmetrics(&[&record, &record]);
        assert!(text.ends_with("# EOF\n"), "{text}");
        assert!(text.lines().all(|l| l.starts_with("# ") || l.starts_with("tailback_")), "{text}");
        assert!(!text.contains("\ntailback_evil"), "{text}");
        let affected = "tailback_verdict{scenario=\"some-stall\",state=\"affected\"} 1.0";
        assert_eq!(text.matches(affected).count(), 1, "{text}");
    }
}
