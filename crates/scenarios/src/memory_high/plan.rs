//! Turns parameters into arms and limits, checked against the machine.

use super::params::{By, MemoryFix, MemoryHighParams};
use super::sentences::MemoryHighFact;
use crate::{Arms, Host, ScenarioError};
use host::cgroup::{CgroupError, MemoryGroup, MemoryLimits, ParentGroup, sweep};
use model::{Arm, Changed, LeftOut, Need, Problem, Role, WhyLeftOut};
use std::time::Duration;

/// Estimated cost of the set-up of a trial, besides its duration. Used for the progress bar.
pub(super) const SET_UP: Duration = Duration::from_millis(150);

/// The parent group for groups with a limit. The error is what is missing.
pub(super) fn home(host: &Host) -> Result<ParentGroup, Need> {
    ParentGroup::find_memory(host.roots).map_err(need_of)
}

/// What this machine lacks for the scenario.
pub(super) fn missing(host: &Host) -> Option<Need> {
    home(host).err()
}

/// The need for an error. If the machine itself has no such limit, a guest has one.
fn need_of(error: CgroupError) -> Need {
    match error {
        CgroupError::MemoryOfV1 => lacking(MemoryHighFact::OfV1, MemoryHighFact::InAGuest),
        _ => Need::MemoryLimit(error),
    }
}

fn lacking(what: MemoryHighFact, grant: MemoryHighFact) -> Need {
    Need::Scenario { what: what.into(), grant: grant.into() }
}

/// Converts a group error into a scenario error.
pub(super) fn refused(error: CgroupError) -> ScenarioError {
    if error.is_bad_value() {
        ScenarioError::Unusable(Problem::Group(error))
    } else if error.is_privilege() {
        ScenarioError::Missing(need_of(error))
    } else {
        ScenarioError::Broken(Problem::Group(error))
    }
}

/// The arms: a limit above the need, the limit below it, and the fixes.
pub(super) fn arms(
    params: &MemoryHighParams,
    host: &Host,
) -> Result<Arms<MemoryHighParams>, ScenarioError> {
    params.check()?;
    let panics = a_kill_panics(host);
    if panics && params.by == By::Max {
        let need = lacking(MemoryHighFact::KillPanics, MemoryHighFact::WithoutPanic);
        return Err(ScenarioError::Missing(need));
    }
    let home = home(host).map_err(ScenarioError::Missing)?;
    let control = params.control();
    check_room(params, &home, host)?;
    // First removes what an earlier, killed run left behind.
    sweep(&home);
    let no_swap = no_swap(host, try_out(&home, params)?);
    if let (true, Some(why)) = (params.swap.is_yes(), no_swap.clone()) {
        return Err(ScenarioError::Missing(lacking(why, MemoryHighFact::SwitchOn)));
    }
    let mut all = Arms::from(vec![
        arm("raised", Role::Control, control, Some(MemoryHighFact::Raised)),
        arm("case", Role::Case, params.clone(), None),
    ]);
    for fix in params.fixes.parts() {
        let hindrance = match fix {
            MemoryFix::MemoryMax => panics.then_some(MemoryHighFact::KillPanics),
            MemoryFix::Swap => no_swap.clone(),
        };
        add_fix(&mut all, params, *fix, hindrance);
    }
    Ok(all)
}

/// Adds the arm of a fix, or why it is left out. A fix that the case already has is skipped.
fn add_fix(
    all: &mut Arms<MemoryHighParams>,
    params: &MemoryHighParams,
    fix: MemoryFix,
    hindrance: Option<MemoryHighFact>,
) {
    let (id, change) = match fix {
        MemoryFix::MemoryMax => ("memory-max", MemoryHighFact::MemoryMax),
        MemoryFix::Swap => ("swap", MemoryHighFact::Swap),
    };
    let settings = params.with(fix);
    if let Some(why) = hindrance {
        let why = WhyLeftOut::Scenario(why.into());
        all.left_out.push(LeftOut { id: id.to_owned(), why });
    } else if settings != *params {
        all.arms.push(arm(id, Role::Fix, settings, Some(change)));
    }
}

fn arm(
    id: &str,
    role: Role,
    settings: MemoryHighParams,
    change: Option<MemoryHighFact>,
) -> Arm<MemoryHighParams> {
    Arm {
        id: id.to_owned(),
        role,
        against: None,
        settings,
        change: change.map(|fact| Changed::Scenario(fact.into())),
    }
}

/// Refuses work that does not fit into the memory of the machine or of the groups above. Without a
/// limit it would take the memory of other processes.
fn check_room(
    params: &MemoryHighParams,
    home: &ParentGroup,
    host: &Host,
) -> Result<(), ScenarioError> {
    // A limit may be far above what the worker takes.
    let bytes = params.enough().get();
    match os::memory::available(&host.roots.proc) {
        Some(available) if available / 2 < bytes => {
            let (needed, available) = (bytes >> 20, available >> 20);
            Err(ScenarioError::unusable(MemoryHighFact::NoRoom { needed, available }))
        }
        _ => home.check_memory(bytes).map_err(refused),
    }
}

/// Tries the limits, so that a refusal comes before anything is measured. Returns whether swap can
/// also be limited.
fn try_out(home: &ParentGroup, params: &MemoryHighParams) -> Result<bool, ScenarioError> {
    let group = MemoryGroup::create(home).map_err(refused)?;
    group.set(&limits(params)).map_err(refused)?;
    let (swap_limit, usage) = (group.has_swap_limit(), group.usage());
    group.remove().map_err(refused)?;
    if usage.some_ns.is_none() {
        return Err(ScenarioError::Missing(lacking(
            MemoryHighFact::NoPressure,
            MemoryHighFact::WithPsi,
        )));
    }
    Ok(swap_limit)
}

/// The limits of a trial's group.
pub(super) fn limits(params: &MemoryHighParams) -> MemoryLimits {
    let limit = Some(params.limit.get());
    let swap = params.swap.is_yes();
    match params.by {
        By::High => MemoryLimits { high: limit, max: None, swap },
        By::Max => MemoryLimits { high: None, max: limit, swap },
    }
}

/// Whether the machine panics when the kernel kills a process of a group at memory.max. For
/// `vm.panic_on_oom` = 1 it panics only when the memory of the whole machine is used up.
fn a_kill_panics(host: &Host) -> bool {
    let setting = host::roots::read_text(&host.roots.proc.join("sys/vm/panic_on_oom"));
    setting.is_ok_and(|text| text.trim() == "2")
}

/// Why a group cannot get swap here. None if it can.
fn no_swap(host: &Host, swap_limit: bool) -> Option<MemoryHighFact> {
    let swaps = host::roots::read_text(&host.roots.proc.join("swaps")).unwrap_or_default();
    match (is_switched_on(&swaps), swap_limit) {
        (false, _) => Some(MemoryHighFact::NoSwap),
        (true, false) => Some(MemoryHighFact::NoSwapLimit),
        (true, true) => None,
    }
}

/// Whether `/proc/swaps` lists any swap below its heading.
fn is_switched_on(swaps: &str) -> bool {
    swaps.lines().skip(1).any(|line| line.split_ascii_whitespace().count() >= 5)
}

#[cfg(test)]
mod tests;
