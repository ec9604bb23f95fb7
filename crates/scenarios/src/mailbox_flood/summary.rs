//! The summary that `mailbox-flood` gives for an outcome.

use super::meta::{META, measure};
use super::params::{MailboxFloodParams, SinkKind};
use super::sentences::{MailboxFloodFact, Slower};
use crate::params::Params;
use crate::suggest;
use crate::summary::{Summary, control_of, shown_case};
use analysis::Outcome;
use model::{Amount, ArmResult, Estimate, Fact, Name, Plan, Role, State, Suggestion, Unit};

/// The queue length for which the headline states the time of a write.
const LONG_QUEUE: f64 = 100_000.0;

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let headline = match outcome.state {
        State::Affected => slower(plan, arms),
        State::NotAffected => not_slower(plan, arms),
        _ => MailboxFloodFact::Unsettled.into(),
    };
    Summary { headline, suggestions: suggestions(outcome.state, plan, arms), kind: None }
}

fn case(arms: &[ArmResult]) -> Option<&ArmResult> {
    let mut cases = arms.iter().filter(|arm| arm.role == Role::Case);
    let affected = |arm: &&ArmResult| arm.state == Some(State::Affected);
    cases.clone().find(affected).or_else(|| cases.next())
}

fn params(plan: &Plan, arm: Option<&ArmResult>) -> Option<MailboxFloodParams> {
    let planned = plan.arms.iter().find(|one| arm.is_some_and(|arm| arm.id == one.id))?;
    MailboxFloodParams::of(&planned.settings)
}

/// The sink of an arm's server.
fn sink(plan: &Plan, arm: Option<&ArmResult>) -> String {
    let params = params(plan, arm);
    params.map_or_else(|| "server".to_owned(), |params| params.sink.to_string())
}

fn figure<'a>(arm: Option<&'a ArmResult>, name: &str) -> Option<&'a Estimate> {
    arm.and_then(|arm| arm.measures.get(name))
}

fn slower(plan: &Plan, arms: &[ArmResult]) -> Fact {
    let case = case(arms);
    let control = case.and_then(|case| control_of(plan, case, arms));
    let slope = figure(case, measure::SLOPE);
    let queued = slope.zip(figure(case, measure::EMPTY_RATE)).map(|(slope, rate)| {
        let empty_ms = 1e3 / rate.median.max(1e-3);
        (with_many_queued(slope, empty_ms), Amount::exact(empty_ms, Unit::Milliseconds))
    });
    let (queued, empty) = queued.unzip();
    let cost = Slower {
        sink: Name(sink(plan, case)),
        slope: slope.cloned(),
        by_length: figure(case, measure::FIT).cloned(),
        queued,
        empty,
        writes: figure(case, measure::DRAIN_RATE).cloned(),
        control: figure(control, measure::DRAIN_RATE).cloned(),
    };
    MailboxFloodFact::Slower(Box::new(cost)).into()
}

/// The time of a write with a long queue. `empty_ms` is its time with an empty queue.
fn with_many_queued(slope: &Estimate, empty_ms: f64) -> Amount {
    let queued_ms = |slope_ns: f64| empty_ms + slope_ns * LONG_QUEUE / 1e6;
    Amount {
        at_least: slope.median_at_least,
        interval: slope.low.zip(slope.high).map(|(low, high)| (queued_ms(low), queued_ms(high))),
        ..Amount::exact(queued_ms(slope.median), Unit::Milliseconds)
    }
}

fn not_slower(plan: &Plan, arms: &[ArmResult]) -> Fact {
    let case = case(arms);
    let sink = Name(sink(plan, case));
    let writes = figure(case, measure::DRAIN_RATE).cloned();
    let elsewhere = params(plan, case).is_some_and(|params| !params.floods_server());
    let fact = match case.filter(|_| elsewhere) {
        // The flood does not wait in the mailbox of the server, so nothing is known of its length.
        Some(case) => MailboxFloodFact::NotSlowerWith { arm: (&case.id).into(), sink, writes },
        None => {
            let slope = figure(case, measure::SLOPE).cloned();
            MailboxFloodFact::NotSlower { sink, slope, writes }
        }
    };
    fact.into()
}

fn suggestions(state: State, plan: &Plan, arms: &[ArmResult]) -> Vec<Suggestion> {
    let Some(case) = shown_case(plan, arms) else {
        return Vec::new();
    };
    let Some(params) = MailboxFloodParams::of(&case.settings) else { return Vec::new() };
    match state {
        State::Affected => suggest::fixes(&META, &asked(&params).settings()),
        // Elsewhere the sink is not the reason: what waits is not in the mailbox of the server.
        State::NotAffected if !params.sink.searches_mailbox() && params.floods_server() => {
            let other = MailboxFloodParams { sink: SinkKind::Port, ..asked(&params) };
            vec![suggest::other_run(&META, MailboxFloodFact::OtherSink, &other.settings())]
        }
        _ => Vec::new(),
    }
}

/// The settings of the case as the user asked for them, with the default fixes.
pub(super) fn asked(case: &MailboxFloodParams) -> MailboxFloodParams {
    let usual = MailboxFloodParams::default();
    MailboxFloodParams { otp: case.otp.asked_by_name(), fixes: usual.fixes, ..case.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{settings, told, value_of};
    use model::testing::{estimate, plan, result};
    use model::{Arm, Test, What};

    fn plan_of(sink: &str) -> Plan {
        let settings = settings(&META, &[("sink", sink), ("otp", "/opt/otp/bin/erl")]);
        let arm = |id, role| Arm { settings: settings.clone(), ..model::testing::arm(id, role) };
        let arms = vec![arm("control", Role::Control), arm("direct", Role::Case)];
        Plan { arms, ..plan(&[]) }
    }

    fn results() -> [ArmResult; 2] {
        [("control", Role::Control), ("direct", Role::Case)].map(|(id, role)| {
            let mut arm = result(id, role, None);
            for (name, median, unit) in [
                (measure::SLOPE, 10.0, Unit::Nanoseconds),
                (measure::FIT, 4.0, Unit::Nanoseconds),
                (measure::EMPTY_RATE, 50_000.0, Unit::PerSecond),
                (measure::DRAIN_RATE, 1_000.0, Unit::PerSecond),
            ] {
                arm.measures.insert(name.to_owned(), estimate(median, unit));
            }
            arm
        })
    }

    #[test]
    fn a_slope_is_told_as_the_time_of_a_write() {
        let slope =
            Estimate { low: Some(8.0), high: Some(12.0), ..estimate(10.0, Unit::Nanoseconds) };
        let queued = with_many_queued(&slope, 0.02);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(queued.value, 1.02) && !queued.at_least, "{queued:?}");
        assert!(queued.interval.is_some_and(|(low, high)| near(low, 0.82) && near(high, 1.22)));
        let few = Estimate { low: None, median_at_least: true, ..slope };
        let queued = with_many_queued(&few, 0.02);
        assert!(queued.interval.is_none() && queued.at_least, "{queued:?}");
    }

    #[test]
    fn each_state_has_its_sentence() {
        let headline = |state, arms: &[ArmResult]| {
            let outcome = Outcome::new(state, measure::SLOPE, Test::default());
            told(&META, &summary(&plan_of("port"), &outcome, arms).headline)
        };
        assert_eq!(
            headline(State::Affected, &results()),
            "Each message in the mailbox makes every write to the sink port slower here, by 10 ns \
             [10, 10] in a flood, and by 4 ns [4, 4] where only the length differs; with 100,000 \
             messages queued, a write takes 1.02 ms [1.02, 1.02] instead of 0.02 ms. In the flood \
             the server wrote 1000/s [1000, 1000], and 1000/s [1000, 1000] with the flood sent to \
             another process."
        );
        assert_eq!(
            headline(State::NotAffected, &results()),
            "A long mailbox does not make writes to the sink port slower here: each message in the \
             mailbox adds 10 ns [10, 10] to a write; the flood was written at 1000/s [1000, 1000]."
        );
        headline(State::Affected, &[]);
        headline(State::Inconclusive, &[]);
    }

    #[test]
    fn only_a_flood_of_the_server_says_something_of_a_long_mailbox() {
        for (name, value) in [("dam", "credit"), ("mailbox", "decoy")] {
            let mut plan = plan_of("port");
            plan.arms[1].settings = settings(&META, &[(name, value)]);
            let outcome = Outcome::new(State::NotAffected, measure::SLOPE, Test::default());
            let fact = summary(&plan, &outcome, &results()).headline;
            assert_eq!(
                told(&META, &fact),
                "With direct the flood does not make writes to the sink port slower here; it was \
                 written at 1000/s [1000, 1000]."
            );
        }
    }

    #[test]
    fn the_path_of_an_otp_is_no_part_of_advice() {
        let fixes = suggestions(State::Affected, &plan_of("tcp"), &[]);
        assert_eq!(fixes.len(), 2);
        let erl = |fix: &Suggestion| value_of(&fix.run.as_ref().unwrap().parameters, "otp");
        assert!(fixes.iter().all(|fix| erl(fix).is_none()));
        let mut of_suite = plan_of("tcp");
        let changed = [("sink", "tcp"), ("otp", "debian:bookworm")];
        of_suite.arms[1].settings = settings(&META, &changed);
        let fixes = suggestions(State::Affected, &of_suite, &[]);
        let is_kept = |fix: &Suggestion| erl(fix).as_deref() == Some("debian:bookworm");
        assert!(fixes.iter().all(is_kept), "{fixes:?}");
        let others = suggestions(State::NotAffected, &plan_of("null"), &[]);
        let [other] = others.as_slice() else { panic!("{others:?}") };
        assert!(matches!(&other.what, What::Scenario(fact) if fact.id == "other-sink"));
        assert!(other.run.as_ref().unwrap().parameters.0.is_empty());
        let with = |name, value| {
            let mut plan = plan_of("null");
            let changed = [("sink", "null"), (name, value)];
            plan.arms[1].settings = settings(&META, &changed);
            suggestions(State::NotAffected, &plan, &[])
        };
        assert_eq!(with("dam", "credit"), [], "the messages wait for the dam");
        let others = with("messages", "5000");
        let run = others[0].run.as_ref().unwrap();
        assert_eq!(value_of(&run.parameters, "messages").as_deref(), Some("5000"));
        assert_eq!(value_of(&run.parameters, "sink"), None, "the default");
        for sink in ["port", "port-line", "tag"] {
            let others = suggestions(State::NotAffected, &plan_of(sink), &[]);
            assert_eq!(others, [], "writes to {sink} search the mailbox already");
        }
    }
}
