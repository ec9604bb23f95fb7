//! The summary that `mmap-lock` gives for an outcome.

use super::meta::{META, measure};
use super::params::{MmapLockParams, Target};
use super::sentences::{Losses, MmapLockFact};
use crate::params::{Counts, OrNone, Params, literal};
use crate::{Summary, suggest};
use analysis::Outcome;
use model::ladder::version;
use model::{Arm, ArmResult, Estimate, Machine, Name, Plan, Role, State, Suggestion, worst_case};

pub(super) fn summary(plan: &Plan, outcome: &Outcome, arms: &[ArmResult]) -> Summary {
    let params = plan.arms.first().and_then(|arm| MmapLockParams::of(&arm.settings));
    let file = params.unwrap_or_default().procfile.as_str().into();
    let headline = match outcome.state {
        State::Affected => {
            let worst = worst_case(arms, measure::STALL);
            let worst = worst.and_then(|arm| arm.measures.get(measure::WORST)).cloned();
            MmapLockFact::Stalls { file, worst, losses: losses(plan, arms) }
        }
        State::NotAffected => MmapLockFact::NoStall { file, losses: losses(plan, arms) },
        _ => MmapLockFact::Unsettled { file },
    };
    Summary { headline: headline.into(), suggestions: suggestions(outcome.state, plan), kind: None }
}

/// The time that the process lost under the load, under the load of the control, and alone.
fn losses(plan: &Plan, arms: &[ArmResult]) -> Option<Box<Losses>> {
    let worst = worst_case(arms, measure::STALL)?;
    let case = plan.arms.iter().find(|arm| arm.id == worst.id)?;
    let control = arms.iter().find(|arm| Some(&arm.id) == case.against.as_ref());
    let alone = arms.iter().find(|arm| arm.role == Role::Baseline);
    let params = MmapLockParams::of(&case.settings).unwrap_or_default();
    let spinners = other_spinners(&params);
    Some(Box::new(Losses {
        lost: stall(worst)?,
        readers: u64::from(params.busy.single().unwrap_or(0)),
        twin: params.target == Target::Twin,
        quota: params.reader_quota.value().map(Name::from),
        spinners: spinners.filter(|count| *count > 0),
        no_spinners: spinners == Some(0),
        control: control.and_then(stall),
        alone: alone.and_then(stall),
    }))
}

/// The first kernel in which a throttled reader runs on to the end of its system call.
const LETS_GO: [u64; 2] = [6, 18];

/// A suggestion of readers under a CPU limit, for kernels that are old enough for them to keep the
/// lock.
pub(super) fn of_old_kernels(machine: &Machine) -> Vec<Suggestion> {
    let release = version(&machine.kernel);
    if release.is_empty() || release >= LETS_GO.to_vec() {
        return Vec::new();
    }
    let limited =
        MmapLockParams { reader_quota: OrNone::Is(literal("10ms/100ms")), ..Default::default() };
    vec![suggest::other_run(&META, MmapLockFact::ThrottledReadersKeepTheLock, &limited.settings())]
}

/// The number of spinners of a case, if it differs from the number of readers.
fn other_spinners(params: &MmapLockParams) -> Option<u64> {
    let readers = params.busy.single()?;
    let spinners = params.spinners_beside(readers);
    (spinners != readers).then_some(u64::from(spinners))
}

fn stall(arm: &ArmResult) -> Option<Estimate> {
    arm.measures.get(measure::STALL).cloned()
}

fn suggestions(state: State, plan: &Plan) -> Vec<Suggestion> {
    // Where the cause is absent, there is nothing to fix and no worse file to read.
    let asked = asked(plan).filter(MmapLockParams::reads_mapper);
    let Some(asked) = asked else { return Vec::new() };
    match state {
        State::Affected => suggest::fixes(&META, &asked.settings()),
        State::NotAffected if asked.procfile.as_str() != "smaps" => {
            let smaps = MmapLockParams { procfile: literal("smaps"), ..asked };
            vec![suggest::other_run(&META, MmapLockFact::LocksLongest, &smaps.settings())]
        }
        _ => Vec::new(),
    }
}

/// The requested settings: those of a case, with `busy` as the list from which the arms were made.
/// None for a study of several factors whose cases differ in another setting: no single run has all
/// of them.
pub(super) fn asked(plan: &Plan) -> Option<MmapLockParams> {
    let of_role = |role| {
        let arms = plan.arms.iter().filter(move |arm: &&Arm| arm.role == role);
        arms.filter_map(|arm| MmapLockParams::of(&arm.settings))
    };
    let case = of_role(Role::Case).next()?;
    let is_alike =
        |other: MmapLockParams| MmapLockParams { busy: case.busy.clone(), ..other } == case;
    if !of_role(Role::Case).all(is_alike) {
        return None;
    }
    let made = of_role(Role::Baseline).chain(of_role(Role::Case));
    let mut busy: Vec<u32> = made.filter_map(|params| params.busy.single()).collect();
    busy.sort_unstable();
    busy.dedup();
    Some(MmapLockParams { busy: Counts::new(busy), ..case })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{settings, told, value_of};
    use model::testing::{arm, estimate, plan, result};
    use model::{Fact, Settings, Test, Unit, Value, What};

    fn plan_of(changed: &[(&str, &str)]) -> Plan {
        let settings = settings(&META, changed);
        let arm = |id: &str, role, busy, against: Option<&str>| {
            let asked = MmapLockParams::of(&settings).unwrap();
            let settings = MmapLockParams { busy: Counts::one(busy), ..asked }.settings();
            Arm { settings, against: against.map(str::to_owned), ..arm(id, role) }
        };
        let mut control = arm("twin-10", Role::Control, 10, None);
        let of_twin = MmapLockParams::of(&control.settings).unwrap();
        control.settings = MmapLockParams { target: Target::Twin, ..of_twin }.settings();
        let arms = vec![
            control,
            arm("any-name", Role::Case, 10, Some("twin-10")),
            arm("alone", Role::Baseline, 0, None),
        ];
        Plan { arms, ..plan(&[]) }
    }

    fn result_of(id: &str, role: Role, median: f64) -> ArmResult {
        let mut arm = result(id, role, None);
        let stall = estimate(median, Unit::MillisecondsPerSecond);
        arm.measures.insert(measure::STALL.to_owned(), stall);
        arm.measures.insert(measure::WORST.to_owned(), estimate(median, Unit::Milliseconds));
        arm
    }

    fn headline(state: State, plan: &Plan, arms: &[ArmResult]) -> Fact {
        let outcome = Outcome::new(state, measure::STALL, Test::default());
        summary(plan, &outcome, arms).headline
    }

    #[test]
    fn the_case_is_told_beside_its_twin_and_the_process_alone() {
        let arms = [
            result_of("twin-10", Role::Control, 2.0),
            result_of("any-name", Role::Case, 700.0),
            result_of("alone", Role::Baseline, 1.0),
        ];
        let stalls = headline(State::Affected, &plan_of(&[]), &arms);
        assert_eq!(
            told(&META, &stalls),
            "Readers of /proc/PID/smaps stall memory mapping here: with 10 readers and 10 spinners \
             on another CPU, a process lost 700 ms/s [700, 700] to calls over 1 ms. With as many \
             readers of an idle twin it lost 2 ms/s [2, 2]. Alone it lost 1 ms/s [1, 1]. The worst \
             call of a trial took 700 ms [700, 700]."
        );
        let placebo = plan_of(&[("target", "twin"), ("procfile", "status")]);
        let none = headline(State::NotAffected, &placebo, &arms[..2]);
        assert_eq!(
            told(&META, &none),
            "Readers of /proc/PID/status did not stall memory mapping here: with 10 readers of an \
             idle twin process and 10 spinners on another CPU, a process lost 700 ms/s [700, 700] \
             to calls over 1 ms. With as many readers of an idle twin it lost 2 ms/s [2, 2]."
        );
        let open = told(&META, &headline(State::Inconclusive, &placebo, &arms));
        assert!(open.starts_with("It is not settled whether readers of"), "{open}");
        told(&META, &headline(State::Affected, &placebo, &[]));
    }

    #[test]
    fn an_old_kernel_is_told_to_have_throttled_readers_that_keep_the_lock() {
        let of = |kernel: &str| {
            of_old_kernels(&Machine { kernel: kernel.to_owned(), ..Machine::default() })
        };
        let [one] = of("6.12.117+deb12-amd64").try_into().unwrap();
        let What::Scenario(fact) = &one.what else { panic!("{one:?}") };
        told(&META, fact);
        let parameters = one.run.unwrap().parameters;
        assert_eq!(value_of(&parameters, "reader-quota").as_deref(), Some("10ms/100ms"));
        assert!(of("6.18.5").is_empty() && of("7.0.0").is_empty() && of("").is_empty());
    }

    #[test]
    fn readers_with_a_quota_are_told_with_it_and_without_spinners() {
        let plan = plan_of(&[("reader-quota", "10ms/100ms")]);
        let arms = [result_of("any-name", Role::Case, 700.0)];
        assert_eq!(
            told(&META, &headline(State::Affected, &plan, &arms)),
            "Readers of /proc/PID/smaps stall memory mapping here: with 10 readers under a shared \
             CPU limit of 10ms/100ms on another CPU, a process lost 700 ms/s [700, 700] to calls \
             over 1 ms. The worst call of a trial took 700 ms [700, 700]."
        );
    }

    #[test]
    fn fixes_keep_what_was_asked_for_and_leave_out_what_is_in_force() {
        let fixes_of = |changed: &[(&str, &str)]| suggestions(State::Affected, &plan_of(changed));
        let parameters = |one: &Suggestion| one.run.as_ref().map(|run| run.parameters.clone());
        let only = |values: &[(&str, Value)]| {
            let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
            Some(values.collect::<Settings>())
        };
        let fixes = fixes_of(&[("size", "256MiB")]);
        assert_eq!(fixes.len(), 4);
        let size = || ("size", Value::Text("256MiB".to_owned()));
        let first: Vec<_> = fixes.iter().take(2).map(|fix| fix.what.clone()).collect();
        assert_eq!(first, ["lock-free-file", "priority"].map(|id| What::Fix(id.to_owned())));
        assert_eq!(parameters(&fixes[1]), only(&[size(), ("nice", Value::Number(0))]));
        let fixes = fixes_of(&[("nice", "0"), ("procfile", "maps")]);
        assert_eq!(fixes.len(), 2);
        let maps = ("procfile", Value::Text("maps".to_owned()));
        let number = |name, count| (name, Value::Number(count));
        let all = [maps, number("busy", 1), number("spinners", 10), number("nice", 0)];
        assert_eq!(parameters(&fixes[1]), only(&all));
    }

    /// The ids of the fixes that are suggested where such a study is affected.
    fn fixes_of(plan: &Plan) -> Vec<String> {
        let id = |one: Suggestion| match one.what {
            What::Fix(id) => id,
            other => panic!("{other:?}"),
        };
        suggestions(State::Affected, plan).into_iter().map(id).collect()
    }

    #[test]
    fn a_suggestion_changes_what_it_says_and_makes_nothing_worse() {
        let of = |changed: &[(&str, &str)]| fixes_of(&plan_of(changed)).join(" ");
        assert_eq!(of(&[]), "lock-free-file priority file fewer-readers");
        // The priority is higher already, or there is no spinner that preempts a reader.
        let without_priority = "lock-free-file file fewer-readers";
        assert_eq!(of(&[("nice", "-5")]), without_priority);
        assert_eq!(of(&[("spinners", "0")]), without_priority);
        let quota = ("reader-quota", "10ms/100ms");
        assert_eq!(of(&[quota]), "lock-free-file no-limit file fewer-readers");
        // A reader of maps needs the lock.
        assert_eq!(of(&[("procfile", "stat")]), "priority fewer-readers");
        assert_eq!(of(&[("target", "twin")]), "");
        let not_affected =
            |changed: &[(&str, &str)]| suggestions(State::NotAffected, &plan_of(changed)).len();
        assert_eq!(not_affected(&[("procfile", "maps")]), 1);
        assert_eq!(not_affected(&[("procfile", "maps"), ("target", "twin")]), 0);
    }

    #[test]
    fn an_arm_that_reads_status_measures_no_other_file() {
        let of = |file: &str| settings(&META, &[("procfile", file)]);
        let change = META.fix("file").unwrap().change;
        assert_eq!(change(&of("smaps")), Some(of("maps")));
        assert_eq!(change(&of("maps")), Some(of("maps")));
        assert_eq!(change(&of("status")), None);
    }

    /// A plan with a case of each of these numbers of readers.
    fn plan_of_counts(counts: &[u32]) -> Plan {
        let of = |count: &u32| {
            let role = if *count == 0 { Role::Baseline } else { Role::Case };
            let busy = Counts::one(*count);
            let settings = MmapLockParams { busy, ..MmapLockParams::default() }.settings();
            Arm { settings, ..arm(&format!("busy-{count}"), role) }
        };
        Plan { arms: counts.iter().map(of).collect(), ..plan(&[]) }
    }

    #[test]
    fn one_reader_is_suggested_only_where_the_study_has_more_and_no_case_of_one() {
        let suggested = |counts: &[u32]| {
            fixes_of(&plan_of_counts(counts)).contains(&"fewer-readers".to_owned())
        };
        assert!(suggested(&[10]) && suggested(&[0, 2]));
        assert!(!suggested(&[0, 1]) && !suggested(&[1]) && !suggested(&[1, 10]));
    }

    #[test]
    fn a_study_of_several_factors_is_no_single_run() {
        let mut plan = plan_of_counts(&[10, 2, 10]);
        assert_eq!(asked(&plan).unwrap().busy, Counts::new(vec![2, 10]));
        let other = MmapLockParams { busy: Counts::one(10), nice: 0, ..MmapLockParams::default() };
        plan.arms[2].settings = other.settings();
        assert_eq!(asked(&plan), None);
    }

    #[test]
    fn spinners_without_readers_are_said() {
        let mut plan = plan_of(&[("spinners", "7")]);
        plan.arms = vec![Arm { role: Role::Case, ..plan.arms.remove(2) }];
        let none = headline(State::NotAffected, &plan, &[result_of("alone", Role::Case, 2.0)]);
        let sentence = told(&META, &none);
        let start = "with no readers and 7 spinners on another CPU, a process lost";
        assert!(sentence.contains(start), "{sentence}");
    }
}
