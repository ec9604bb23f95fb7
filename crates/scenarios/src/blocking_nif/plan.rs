//! From knobs to arms and scripts.

use super::meta::MODES;
use crate::erlang::{self, Vm};
use crate::{Arms, Cell, ScenarioError, Site};
use beam::Flags;
use model::{Arm, LeftOut, Role, Settings, Value};
use std::time::Duration;

/// What starting and ending a node costs beside the work, roughly, for the progress bar.
const SET_UP: Duration = Duration::from_millis(200);

/// What is played in a trial.
#[derive(Debug, Clone)]
pub(super) struct Script {
    /// The OTP and the compiled application.
    pub vm: Vm,
    /// Emulator flags.
    pub flags: Flags,
    /// Form of the work.
    pub mode: String,
    /// Processes.
    pub processes: u64,
    /// Processes of the second run, which is watched from inside.
    pub watched: u64,
    /// Work of a call: microseconds or bytes.
    pub work: u64,
    /// Calls of a process.
    pub calls: u64,
    /// Turns of the loop after them.
    pub iterations: u64,
    /// After so long a trial is a hang.
    pub limit: Duration,
}

/// The same work in a form that does not block; none where the mode is such a form itself.
fn gentle(mode: &str) -> Option<&'static str> {
    Some(match mode {
        "nif_sleep" | "nif_charge" | "nif_dirty" => "nif_yield",
        "nif_busy" | "nif_busy_charge" | "nif_busy_dirty" => "nif_busy_yield",
        "md5" => "md5_yield",
        "bignum" => "bignum_yield",
        _ => return None,
    })
}

/// The same work on dirty schedulers, where a mode that blocks has such a form.
fn dirty(mode: &str) -> Option<&'static str> {
    Some(match mode {
        "nif_sleep" | "nif_charge" => "nif_dirty",
        "nif_busy" | "nif_busy_charge" => "nif_busy_dirty",
        _ => return None,
    })
}

/// The same call, charged when it is over; none where it cannot be, or is charged anyway.
fn charged(mode: &str) -> Option<&'static str> {
    Some(match mode {
        "nif_sleep" => "nif_charge",
        "nif_busy" => "nif_busy_charge",
        _ => return None,
    })
}

/// Whether the mode blocks a scheduler, so that there is something to fix.
pub(super) fn blocks(mode: &str) -> bool {
    ["nif_sleep", "nif_busy", "nif_charge", "nif_busy_charge", "md5", "bignum"].contains(&mode)
}

/// The arms: the work in slices that yield, the work as asked for, and what may fix it. Each OTP has
/// a control of its own.
pub(super) fn arms(settings: &Settings, site: &Site) -> Result<Arms, ScenarioError> {
    let settings = resolved(settings, site);
    let mode = mode(&settings);
    let paths = erlang::paths(settings.text("erl").unwrap_or("auto"));
    let mut found = Arms::default();
    let control = gentle(&mode).unwrap_or(&mode).to_owned();
    for path in &paths {
        let vm = erlang::vm(path.as_deref())?;
        let flags = settings.text("flags").unwrap_or_default();
        let all = emulator_flags(&settings, flags)?;
        erlang::accepted(&vm, &all)?;
        need_nif(&mode, &vm)?;
        let name = |id: &str| if paths.len() > 1 { vm.named(id) } else { id.to_owned() };
        let against = name("control");
        found.arms.push(arm(&settings, &vm, &against, Role::Control, &control, flags));
        let case = arm(&settings, &vm, &name(&mode), Role::Case, &mode, flags);
        found.arms.push(Arm { against: Some(against), ..case });
        if blocks(&mode) {
            fixes(&settings, &vm, &name, &mut found)?;
        }
    }
    erlang::distinct(&found)?;
    Ok(found)
}

/// The arms that may fix it: the work in another form, and emulator flags.
fn fixes(
    settings: &Settings,
    vm: &Vm,
    name: &dyn Fn(&str) -> String,
    found: &mut Arms,
) -> Result<(), ScenarioError> {
    let base = settings.text("flags").unwrap_or_default();
    let mode = mode(settings);
    let mut add = |id: &str, mode: &str, flags: &str, change: &str| {
        let fix = arm(settings, vm, &name(id), Role::Fix, mode, flags);
        let (against, change) = (Some(name("control")), Some(change.to_owned()));
        found.arms.push(Arm { against, change, ..fix });
    };
    for fix in erlang::between_semicolons(settings.text("fixes").unwrap_or_default()) {
        let form = match fix {
            "dirty" => Some((dirty(&mode), "the native function on a dirty scheduler")),
            "charge" => Some((charged(&mode), "the native function charges its reductions")),
            _ => None,
        };
        if let Some((form, change)) = form {
            // Work that has no such form goes without.
            form.into_iter().for_each(|form| add(form, form, base, change));
            continue;
        }
        if !fix.starts_with(['+', '-']) {
            return Err(ScenarioError::Unusable(format!(
                "--fixes: `{fix}` is none of dirty, charge, and no emulator flags"
            )));
        }
        let all = format!("{base} {fix}").trim().to_owned();
        match vm.otp.accepts(&emulator_flags(settings, &all)?) {
            Ok(()) => add(&erlang::slug(fix), &mode, &all, fix),
            Err(words) => found.left_out.push(LeftOut {
                id: name(&erlang::slug(fix)),
                why: format!("OTP {} refuses {fix}: {words}", vm.otp.release),
            }),
        }
    }
    Ok(())
}

/// The native modes need a NIF that could be compiled.
fn need_nif(mode: &str, vm: &Vm) -> Result<(), ScenarioError> {
    if !mode.starts_with("nif_") {
        return Ok(());
    }
    match &vm.app.nif {
        Ok(_) => Ok(()),
        Err(why) => Err(ScenarioError::Missing(crate::Missing {
            what: format!("blocking-nif: no native functions for OTP {}: {why}", vm.otp.release),
            grant: "or use --mode bignum, which needs no compiler".to_owned(),
        })),
    }
}

fn arm(settings: &Settings, vm: &Vm, id: &str, role: Role, mode: &str, flags: &str) -> Arm {
    let mut settings = settings.clone();
    settings.set("mode", Value::Text(mode.to_owned()));
    settings.set("flags", Value::Text(flags.to_owned()));
    settings.set("erl", Value::Text(vm.otp.erl.display().to_string()));
    Arm { id: id.to_owned(), role, settings, against: None, change: None }
}

/// What is run where nobody says otherwise: enough processes that each scheduler has several, and
/// calls far longer than the millisecond that they may take. A look for sleeping schedulers each
/// 10 ms, as `+sfwi 10` has it, should leave little of the run in which they slept.
fn resolved(settings: &Settings, site: &Site) -> Settings {
    let cpus = i64::try_from(site.machine.allowed_cpus.len()).unwrap_or(2).max(2);
    let mode = mode(settings);
    let (processes, work, calls) = match mode.as_str() {
        "md5" | "md5_yield" => (100, 1 << 20, 4),
        _ => ((3 * cpus).max(14), 10_000, 1),
    };
    let mut resolved = settings.clone();
    let mut choose = |knob: &str, value: i64| {
        if settings.number(knob).is_none() {
            resolved.set(knob, Value::Number(value));
        }
    };
    choose("schedulers", cpus);
    choose("processes", processes);
    choose("work", work);
    choose("calls", calls);
    resolved
}

fn mode(settings: &Settings) -> String {
    settings.text("mode").unwrap_or(MODES[0]).to_owned()
}

/// The number of schedulers and the flags asked for.
fn emulator_flags(settings: &Settings, flags: &str) -> Result<Flags, ScenarioError> {
    let schedulers = settings.number("schedulers").unwrap_or(2);
    erlang::flags(&format!("+S {schedulers}:{schedulers} {flags}"))
}

/// Control and case of these settings, as [`arms`] makes them, without asking an OTP.
pub(super) fn sketch(settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
    let settings = resolved(settings, site);
    emulator_flags(&settings, settings.text("flags").unwrap_or_default())?;
    let mode = mode(&settings);
    let mut control = settings.clone();
    control.set("mode", Value::Text(gentle(&mode).unwrap_or(&mode).to_owned()));
    Ok(Cell::of_pair(control, settings))
}

/// What a trial of these settings plays.
pub(super) fn script(settings: &Settings) -> Result<Script, ScenarioError> {
    let number =
        |knob: &str| settings.number(knob).and_then(|n| u64::try_from(n).ok()).unwrap_or(1);
    let path = erlang::paths(settings.text("erl").unwrap_or("auto"));
    let vm = erlang::vm(path.first().and_then(Option::as_deref))?;
    let (processes, schedulers) = (number("processes"), number("schedulers"));
    Ok(Script {
        vm,
        flags: emulator_flags(settings, settings.text("flags").unwrap_or_default())?,
        mode: mode(settings),
        processes,
        watched: watched(processes, schedulers),
        work: number("work"),
        calls: number("calls"),
        iterations: number("iterations"),
        limit: settings.duration("time-limit").unwrap_or(Duration::from_secs(60)),
    })
}

/// Lateness shows in less work than it takes to see who slept: half of it, or as many processes as
/// leave some waiting for each scheduler.
fn watched(processes: u64, schedulers: u64) -> u64 {
    (processes / 2).max(processes.min(schedulers.saturating_mul(3))).max(1)
}

/// How long a trial takes if the work is done one call after the other, for the progress bar.
pub(super) fn expected(settings: &Settings) -> Duration {
    let number = |knob: &str| settings.number(knob).unwrap_or(1).max(0) as f64;
    let md5 = mode(settings).starts_with("md5");
    // A megabyte takes about two milliseconds.
    let call_us = if md5 { number("work") / 500.0 } else { number("work") };
    let all = number("processes") * number("calls") * call_us / 1e6;
    let parallel = if blocks(&mode(settings)) { 1.0 } else { number("schedulers") };
    let limit = settings.duration("time-limit").unwrap_or(Duration::from_secs(60));
    // Half of the work is done twice.
    SET_UP + 3 * Duration::from_secs_f64((all / parallel).min(1e6)).min(limit) / 2
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;

    #[test]
    fn each_mode_that_blocks_has_a_gentle_form() {
        for mode in MODES {
            assert!(!blocks(mode) || gentle(mode).is_some(), "{mode}");
            let others = [gentle(mode), dirty(mode), charged(mode)];
            assert!(others.into_iter().flatten().all(|other| MODES.contains(&other)), "{mode}");
        }
    }

    #[test]
    fn the_second_run_leaves_processes_waiting_too() {
        assert_eq!(watched(14, 2), 7);
        assert_eq!(watched(192, 64), 192);
        assert_eq!(watched(3, 2), 3);
        assert_eq!(watched(1, 1), 1);
    }

    #[test]
    fn what_nobody_chose_is_chosen_for_the_mode() {
        let machine = model::Machine { allowed_cpus: vec![0], ..model::Machine::default() };
        let roots = host::roots::Roots::real();
        let site = Site { roots: &roots, machine: &machine };
        let mut settings = Settings::defaults(META.knobs, false);
        settings.set("calls", Value::Number(7));
        let chosen = resolved(&settings, &site);
        assert_eq!(chosen.number("calls"), Some(7));
        assert_eq!(chosen.number("schedulers"), Some(2), "a collapse takes two schedulers");
        settings.set("mode", Value::Text("md5".to_owned()));
        assert_eq!(resolved(&settings, &site).number("work"), Some(1 << 20));
    }
}
