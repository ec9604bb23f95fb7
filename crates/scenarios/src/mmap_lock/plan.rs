//! Turns parameters into arms and trials, checked against the machine.

use super::checks::check;
use super::load::{CpuLoad, TrialSpec, Twin};
use super::params::{LOCK_FREE, MmapLockParams, Target};
use super::place::place;
use super::reader_group;
use super::sentences::MmapLockFact;
use crate::params::{Auto, Counts, OrNone, literal};
use crate::{Arms, Host, ScenarioError};
use model::problem::ArmsProblem;
use model::{Arm, Changed, LeftOut, Role, WhyLeftOut};
use std::time::Duration;

/// Id of the control in a study that compares the process alone with itself.
const CONTROL: &str = "control";

/// Id of the arm with the process alone, shown next to the others.
const ALONE: &str = "alone";

/// Usual duration of a call of mmap or munmap without its pause, including the cost of the sleep.
const USUAL_CALL: Duration = Duration::from_micros(20);

/// After this many calls per page, the region is split as far as it will ever be.
const CALLS_A_PAGE: u64 = 3;

/// Estimated cost of the set-up of a trial, besides its duration. Used for the progress bar.
const SET_UP: Duration = Duration::from_millis(80);

/// Additional cost of the set-up of twin and load, without a small cost for each process.
const SET_UP_LOAD: Duration = Duration::from_millis(35);

/// This many readers of the mapper usually hang it.
const USUALLY_HANGS: u32 = 10;

/// The arms: a control and a case for each number of readers, and the process alone if the numbers
/// include 0.
///
/// # Errors
/// If a value cannot be used here, or the quota of the readers is not available.
pub(super) fn arms(
    params: &MmapLockParams,
    host: &Host,
) -> Result<Arms<MmapLockParams>, ScenarioError> {
    check(params, host)?;
    let burst = reader_group::try_out(params, host)?;
    let mut arms = Arms::from(arms_for(params));
    if params.reader_quota.value().is_some() && !burst {
        let without = |arm: &Arm<MmapLockParams>| has_burst(&arm.settings);
        let gone: Vec<String> =
            arms.arms.iter().filter(|arm| without(arm)).map(|arm| arm.id.clone()).collect();
        arms.arms.retain(|arm| !gone.contains(&arm.id));
        let why = || WhyLeftOut::Scenario(MmapLockFact::NoBurst.into());
        arms.left_out = gone.into_iter().map(|id| LeftOut { id, why: why() }).collect();
    }
    Ok(arms)
}

/// The arms, as far as they can be determined without creating a group.
pub(super) fn sketch(
    params: &MmapLockParams,
    host: &Host,
) -> Result<Arms<MmapLockParams>, ScenarioError> {
    check(params, host)?;
    Ok(arms_for(params).into())
}

fn has_burst(params: &MmapLockParams) -> bool {
    params.reader_quota.value().is_some_and(|quota| !quota.burst().is_zero())
}

fn arms_for(params: &MmapLockParams) -> Vec<Arm<MmapLockParams>> {
    let mut busy: Vec<u32> = params.busy.all().to_vec();
    busy.sort_unstable();
    busy.dedup();
    // A list with only 0 compares the process alone with itself.
    if busy == [0] {
        let case = arm(params, 0, "busy-0", Role::Case);
        return vec![arm(params, 0, CONTROL, Role::Control), case];
    }
    let mut arms = Vec::new();
    let most = busy.last().copied().unwrap_or(0);
    let (twin, case) = match params.reader_quota.value() {
        Some(_) => ("throttled-twin", "throttled"),
        None => ("twin", "busy"),
    };
    for count in busy.iter().copied().filter(|count| *count > 0) {
        let mut control = arm(params, count, &format!("{twin}-{count}"), Role::Control);
        control.settings.target = Target::Twin;
        let mut case = arm(params, count, &format!("{case}-{count}"), Role::Case);
        case.against = Some(control.id.clone());
        let fixes = if count == most { fixes(&case) } else { Vec::new() };
        arms.push(control);
        arms.push(case);
        arms.extend(fixes);
    }
    if busy.contains(&0) {
        arms.push(alone(params));
    }
    arms
}

/// The process alone, even if a number of spinners was requested: they belong to the cases and
/// their controls.
fn alone(params: &MmapLockParams) -> Arm<MmapLockParams> {
    let mut alone = arm(params, 0, ALONE, Role::Baseline);
    // `auto` has no spinners either, if there are no scanners.
    if alone.settings.spinners.value().is_some() {
        alone.settings.spinners = Auto::Is(0);
    }
    alone
}

/// The fixes: a file whose readers need no lock. For readers with a quota also no quota, or a
/// quota with a burst. Only the case with the most readers has fixes.
fn fixes(case: &Arm<MmapLockParams>) -> Vec<Arm<MmapLockParams>> {
    let params = &case.settings;
    if params.target == Target::Twin {
        return Vec::new();
    }
    let arm = |id: &str, settings: MmapLockParams, change: MmapLockFact| Arm {
        id: format!("{id}-{}", params.busy),
        role: Role::Fix,
        settings,
        against: case.against.clone(),
        change: Some(Changed::Scenario(change.into())),
    };
    let mut fixes = Vec::new();
    if let Some(quota) = params.reader_quota.get() {
        let free = MmapLockParams {
            reader_quota: OrNone::None,
            spinners: params.spinners.or(0),
            ..params.clone()
        };
        fixes.push(arm("no-limit", free, MmapLockFact::NoLimit));
        if quota.burst().is_zero() {
            let reader_quota = OrNone::Is(quota.with_burst());
            let burst = MmapLockParams { reader_quota, ..params.clone() };
            fixes.push(arm("burst", burst, MmapLockFact::Burst));
        }
    }
    if !params.is_lock_free() {
        let status = MmapLockParams { procfile: literal(LOCK_FREE[0]), ..params.clone() };
        fixes.push(arm(LOCK_FREE[0], status, MmapLockFact::LockFree));
    }
    fixes
}

fn arm(params: &MmapLockParams, busy: u32, id: &str, role: Role) -> Arm<MmapLockParams> {
    let settings = MmapLockParams { busy: Counts::one(busy), ..params.clone() };
    Arm { id: id.to_owned(), role, settings, against: None, change: None }
}

/// The trial for these parameters.
pub(super) fn spec(
    params: &MmapLockParams,
    host: &Host,
    seed: u64,
) -> Result<TrialSpec, ScenarioError> {
    let (mapper, load, tool) = place(params, host)?;
    let several =
        || ScenarioError::Broken(ArmsProblem::NotOneValue { option: "--busy".to_owned() }.into());
    let busy = params.busy.single().ok_or_else(several)?;
    let twin = (busy > 0).then(|| Twin {
        calls: calls_of_twin(params),
        read: params.target == Target::Twin,
        // Nothing runs on this CPU before the load starts, so mapper and twin are set up at the
        // same time.
        cpu: load,
    });
    Ok(TrialSpec {
        procfile: params.procfile.as_str().to_owned(),
        lead: params.lead.get(),
        duration: params.duration.get(),
        hang_after: params.hang_after.get(),
        region_bytes: params.size.get(),
        pause: params.pause.get(),
        seed,
        cpu_mapper: mapper,
        cpu_tool: tool,
        cpu_loads: vec![CpuLoad {
            cpu: load,
            scanners: busy,
            spinners: params.spinners_beside(busy),
            nice: params.nice,
            busyduration: params.busyduration.get(),
        }],
        // The trial creates the group and adds it here.
        reader_groups: Vec::new(),
        twin,
    })
}

/// The number of calls that an undisturbed mapper has made halfway through its trial. Each call
/// splits its map a little further, so this is the state that its readers find on average.
fn calls_of_twin(params: &MmapLockParams) -> u64 {
    let half = params.duration.get() / 2;
    let call = params.pause.get() + USUAL_CALL;
    let calls = u64::try_from(half.as_nanos() / call.as_nanos()).unwrap_or(u64::MAX);
    calls.min(params.pages().saturating_mul(CALLS_A_PAGE))
}

pub(super) fn expected(params: &MmapLockParams) -> Duration {
    let busy = params.busy.most();
    let throttled = params.reader_quota.value().is_some();
    let reads_it = params.target != Target::Twin && !params.is_lock_free();
    let hangs = busy >= USUALLY_HANGS && reads_it && !throttled;
    let hang = if hangs { params.hang_after.get() } else { Duration::ZERO };
    let load = if busy > 0 { SET_UP_LOAD + params.lead.get() } else { Duration::ZERO };
    SET_UP + load + params.duration.get() + hang + Duration::from_millis(1) * busy
}

/// How long the scanners read before the mapper is measured. Without scanners, nothing runs
/// before.
pub(super) fn warm_up(params: &MmapLockParams) -> Duration {
    if params.busy.most() > 0 { params.lead.get() } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Size, Time};

    fn params(busy: &[u32]) -> MmapLockParams {
        MmapLockParams { busy: Counts::new(busy.to_vec()), ..MmapLockParams::default() }
    }

    fn ids(busy: &[u32]) -> Vec<String> {
        arms_for(&params(busy)).into_iter().map(|arm| arm.id).collect()
    }

    #[test]
    fn each_number_of_readers_has_its_twin_and_zero_is_the_process_alone() {
        assert_eq!(
            ids(&[10, 0, 1, 10]),
            ["twin-1", "busy-1", "twin-10", "busy-10", "status-10", "alone"]
        );
        assert_eq!(ids(&[5]), ["twin-5", "busy-5", "status-5"]);
        let arms = arms_for(&params(&[0, 5]));
        let roles: Vec<Role> = arms.iter().map(|arm| arm.role).collect();
        assert_eq!(roles, [Role::Control, Role::Case, Role::Fix, Role::Baseline]);
        let against = |arm: usize| arms[arm].against.as_deref();
        assert_eq!([against(1), against(2)], [Some("twin-5"); 2]);
        assert_eq!([against(0), against(3)], [None; 2]);
    }

    #[test]
    fn zero_alone_is_held_against_itself() {
        assert_eq!(ids(&[0]), ["control", "busy-0"]);
        let arms = arms_for(&params(&[0]));
        assert_eq!((arms[1].role, &arms[1].settings), (Role::Case, &arms[0].settings));
    }

    #[test]
    fn the_process_alone_has_no_spinners_and_otherwise_the_settings_of_the_case() {
        for spinners in [Auto::Auto, Auto::Is(7)] {
            let arms = arms_for(&MmapLockParams { spinners, ..params(&[0, 5]) });
            let [twin, case, _, alone] = &arms[..] else { panic!("{arms:?}") };
            let of =
                |arm: &Arm<MmapLockParams>| arm.settings.spinners_beside(arm.settings.busy.most());
            let most = spinners.get().unwrap_or(5);
            assert_eq!([of(twin), of(case), of(alone)], [most, most, 0]);
            let mut of_alone = alone.settings.clone();
            of_alone.busy = Counts::one(5);
            of_alone.spinners = spinners;
            assert_eq!(of_alone, case.settings);
        }
        // Here both arms have the spinners.
        let arms = arms_for(&MmapLockParams { spinners: Auto::Is(7), ..params(&[0]) });
        assert_eq!(arms[0].settings, arms[1].settings);
        assert_eq!(arms[1].settings.spinners_beside(0), 7);
    }

    #[test]
    fn case_and_control_differ_in_whom_they_read_alone_unless_both_are_to_read_the_twin() {
        let mut params = params(&[5]);
        let arms = arms_for(&params);
        let mut control = arms[0].settings.clone();
        assert_eq!(control.target, Target::Twin);
        control.target = Target::Mapper;
        assert_eq!(control, arms[1].settings);
        params.target = Target::Twin;
        let arms = arms_for(&params);
        assert_eq!(arms[0].settings, arms[1].settings);
    }

    #[test]
    fn a_twin_is_split_as_the_mapper_is_half_way_and_no_further_than_it_ever_is() {
        let mut params = params(&[5]);
        // 125 ms at 30 us per call.
        assert_eq!(calls_of_twin(&params), 4166);
        params.duration = Time::s(60);
        params.size = Size::kib(64);
        assert_eq!(calls_of_twin(&params), 3 * params.pages());
    }

    fn throttled(busy: &[u32]) -> MmapLockParams {
        MmapLockParams { reader_quota: OrNone::Is(literal("10ms/100ms")), ..params(busy) }
    }

    #[test]
    fn readers_with_a_quota_have_the_same_readers_of_the_twin_as_their_control() {
        let arms = arms_for(&throttled(&[1, 4]));
        let ids: Vec<&str> = arms.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "throttled-twin-1",
                "throttled-1",
                "throttled-twin-4",
                "throttled-4",
                "no-limit-4",
                "burst-4",
                "status-4"
            ]
        );
        let mut control = arms[2].settings.clone();
        control.target = Target::Mapper;
        assert_eq!(control, arms[3].settings);
        assert_eq!(arms[3].settings.spinners_beside(4), 0);
        let fixes: Vec<_> = arms.iter().filter(|arm| arm.role == Role::Fix).collect();
        assert!(fixes.iter().all(|fix| fix.against.as_deref() == Some("throttled-twin-4")));
        assert!(fixes.iter().all(|fix| fix.settings.spinners_beside(4) == 0), "no other load");
        assert_eq!(fixes[0].settings.reader_quota, OrNone::None);
        assert!(has_burst(&fixes[1].settings) && !has_burst(&arms[3].settings));
    }

    #[test]
    fn a_placebo_has_nothing_to_fix() {
        let arms = arms_for(&MmapLockParams { target: Target::Twin, ..throttled(&[4]) });
        assert_eq!(arms.len(), 2);
        assert_eq!(arms[0].settings, arms[1].settings);
    }
}
