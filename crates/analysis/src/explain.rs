//! From a record's evidence to an explanation; nothing but the record is asked.

mod costs;
mod phrases;
mod quota;
mod sentences;
mod vm;

use model::evidence::{Evidence, Split};
use model::explanation::{Explanation, Share};
use model::record::Probed;
use model::{FixOutcome, Record, State};

/// Explains a record: by the trial with probes of this arm, else by the one that waited longest.
pub fn explain(record: &Record, arm: Option<&str>) -> Explanation {
    let chosen = choose(record, arm);
    let evidence = chosen.and_then(|probed| probed.trial.observation.evidence.as_ref());
    let mut explanation = Explanation {
        scenario: record.scenario.clone(),
        state: record.verdict.state,
        arm: chosen.map(|probed| probed.trial.arm.clone()),
        cause: evidence
            .and_then(sentences::cause)
            .unwrap_or_else(|| record.verdict.headline.clone()),
        shares: evidence.map(shares).unwrap_or_default(),
        evidence: evidence.map(sentences::evidence).unwrap_or_default(),
        mend: mend(record),
        cost: costs::costs(record),
        sources: evidence.map(|evidence| evidence.sources.clone()).unwrap_or_default(),
        missing: evidence.map(|evidence| evidence.missing.clone()).unwrap_or_default(),
        waits: evidence.map(|evidence| evidence.waits.clone()).unwrap_or_default(),
    };
    if evidence.is_none() {
        explanation.missing.push(sentences::without_evidence(record));
    }
    explanation
}

/// The trial with probes that tells most.
fn choose<'a>(record: &'a Record, arm: Option<&str>) -> Option<&'a Probed> {
    let wanted = |probed: &&Probed| arm.is_none_or(|arm| probed.trial.arm == arm);
    let control = record.control().map(|arm| arm.id.as_str());
    let weight = |probed: &&Probed| {
        let evidence = probed.trial.observation.evidence.as_ref();
        let waits = evidence.map_or(0, |evidence| evidence.waits_ns);
        let delays = evidence.map_or(0, |e| e.threads.iter().map(|t| t.runnable_ns).sum());
        (Some(probed.trial.arm.as_str()) != control, waits, delays)
    };
    record.probed.iter().filter(wanted).max_by_key(weight)
}

/// Where the time of all waits went.
fn shares(evidence: &Evidence) -> Vec<Share> {
    let Some(split) = &evidence.split else { return Vec::new() };
    let total = evidence.waits_ns.max(1);
    let share = |(what, ns): (&str, u64)| Share {
        what: what.to_owned(),
        ns,
        percent: 100.0 * ns as f64 / total as f64,
    };
    let Split { covered_ns, own_ns, running_ns, preempted_ns, blocked_ns, .. } = split;
    let told = running_ns + preempted_ns + blocked_ns;
    [
        ("a holder was runnable but preempted, and none ran", *preempted_ns),
        ("a holder ran", *running_ns),
        ("every known holder slept", *blocked_ns),
        ("somebody held; what it did is not known", covered_ns.saturating_sub(told)),
        ("nobody held any more; the waiter itself waited for a CPU", *own_ns),
        ("no holder is known", evidence.waits_ns.saturating_sub(covered_ns + own_ns)),
    ]
    .into_iter()
    .filter(|(_, ns)| *ns > 0)
    .map(share)
    .collect()
}

/// What fixed it in this very study, else what may.
fn mend(record: &Record) -> Option<String> {
    if record.verdict.state != State::Affected {
        return record.verdict.next.first().cloned();
    }
    let fixed = record.verdict.fixes.iter().find(|fix| fix.outcome == FixOutcome::Fixed);
    match fixed {
        Some(fix) => Some(format!("{}; it fixed the stall in this very run", fix.change)),
        None => record.verdict.next.first().cloned(),
    }
}

#[cfg(test)]
mod tests;
