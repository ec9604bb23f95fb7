//! Makes an explanation from a record's evidence. It uses only the record.

mod costs;
mod memory;
mod quota;
mod seen;
mod times;
mod vm;

use model::evidence::{Evidence, Split};
use model::explanation::{Cause, Explanation, Happened, MissingEvidence, Remedy, SCHEMA, Share};
use model::record::Probed;
use model::{FixOutcome, Judged, Role, State};
use times::sum;

/// Explains a record by the trial with probes of this arm, or else by the trial that waited
/// longest.
pub fn explain(record: &Judged, arm: Option<&str>) -> Explanation {
    let chosen = choose(record, arm);
    let evidence = chosen.and_then(|probed| probed.trial.observation.evidence.as_ref());
    Explanation {
        schema: SCHEMA.to_owned(),
        scenario: record.scenario.clone(),
        state: record.judgement.state,
        arm: chosen.map(|probed| probed.trial.arm.clone()),
        cause: evidence
            .and_then(seen::cause)
            .unwrap_or_else(|| Cause::Verdict(record.judgement.headline.clone())),
        shares: evidence.map(shares).unwrap_or_default(),
        evidence: evidence.map(seen::beside).unwrap_or_default(),
        fix: remedy(record),
        guest: record.machine.guest_of(),
        cost: costs::cost(record),
        sources: evidence.map(|evidence| evidence.sources.clone()).unwrap_or_default(),
        missing: missing(record, evidence),
        waits: evidence.map(|evidence| evidence.waits.clone()).unwrap_or_default(),
    }
}

/// The trial with probes that shows most. A trial of a control is chosen only if there is no other.
fn choose<'a>(record: &'a Judged, arm: Option<&str>) -> Option<&'a Probed> {
    let wanted = |probed: &&Probed| arm.is_none_or(|arm| probed.trial.arm == arm);
    let is_control =
        |id: &str| record.plan.arms.iter().any(|arm| arm.id == id && arm.role == Role::Control);
    let weight = |probed: &&Probed| {
        let evidence = probed.trial.observation.evidence.as_ref();
        let waits = evidence.map_or(0, |evidence| evidence.waits_ns);
        let delays = evidence.map_or(0, |e| sum(e.threads.iter().map(|t| t.runnable_ns)));
        (!is_control(&probed.trial.arm), waits, delays)
    };
    record.probed.iter().filter(wanted).max_by_key(weight)
}

/// Where the time of all waits went.
fn shares(evidence: &Evidence) -> Vec<Share> {
    let Some(split) = &evidence.split else { return Vec::new() };
    let total = evidence.waits_ns.max(1);
    let share =
        |(what, ns): (Happened, u64)| Share { what, ns, percent: 100.0 * ns as f64 / total as f64 };
    let Split { covered_ns, own_ns, running_ns, preempted_ns, blocked_ns, .. } = split;
    let told = sum([*running_ns, *preempted_ns, *blocked_ns].into_iter());
    let held_or_own = covered_ns.saturating_add(*own_ns);
    [
        (Happened::HolderPreempted, *preempted_ns),
        (Happened::HolderRan, *running_ns),
        (Happened::HoldersSlept, *blocked_ns),
        (Happened::HolderUnknown, covered_ns.saturating_sub(told)),
        (Happened::WaiterDelayed, *own_ns),
        (Happened::NoHolderKnown, evidence.waits_ns.saturating_sub(held_or_own)),
    ]
    .into_iter()
    .filter(|(_, ns)| *ns > 0)
    .map(share)
    .collect()
}

/// The change that fixed the stall in this study, or else a change that may fix it.
fn remedy(record: &Judged) -> Option<Remedy> {
    let verdict = &record.judgement;
    let fixed = verdict.fixes.iter().find(|fix| fix.outcome == FixOutcome::Fixed);
    if let Some(fix) = fixed.filter(|_| verdict.state == State::Affected) {
        return Some(Remedy::Measured {
            arm: fix.arm.clone(),
            change: fix.change.clone(),
            outcome: fix.outcome,
        });
    }
    verdict.suggestions.first().cloned().map(Remedy::Suggested)
}

fn missing(record: &Judged, evidence: Option<&Evidence>) -> Vec<MissingEvidence> {
    match evidence {
        Some(evidence) => evidence.missing.iter().cloned().map(MissingEvidence::NotSeen).collect(),
        None => vec![without_evidence(record)],
    }
}

/// Why there is no evidence.
fn without_evidence(record: &Judged) -> MissingEvidence {
    if record.tool.argv.iter().any(|word| word == "--no-probe") {
        MissingEvidence::NoProbe
    } else if record.trials.is_empty() {
        MissingEvidence::NothingRun
    } else if record.judgement.state == State::Affected {
        MissingEvidence::NotProbed
    } else {
        MissingEvidence::NotAffected
    }
}

#[cfg(test)]
mod tests;
