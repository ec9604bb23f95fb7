//! Turns parameters into arms and trials.

use super::params::{BlockingNifParams, Mode, NifFix};
use super::sentences::BlockingNifFact;
use crate::erlang::{self, Vm};
use crate::params::{Auto, ErlFlags, Programs};
use crate::{Arms, Cell, Host, ScenarioError};
use beam::Flags;
use model::{Arm, Changed, LeftOut, Need, Role, WhyLeftOut};
use std::time::Duration;

/// Estimated cost of starting and ending a node, besides the work. Used for the progress bar.
const SET_UP: Duration = Duration::from_millis(200);

/// What a trial runs.
#[derive(Debug, Clone)]
pub(super) struct TrialSpec {
    /// The OTP and the compiled application.
    pub vm: Vm,
    /// Emulator flags.
    pub flags: Flags,
    /// Form of the work.
    pub mode: Mode,
    /// Number of processes.
    pub processes: u32,
    /// Number of processes in the second run, which is watched from inside.
    pub watched: u32,
    /// Work of a call, in microseconds or bytes.
    pub work: u32,
    /// Number of calls of a process.
    pub calls: u32,
    /// Turns of the loop after these calls.
    pub iterations: u32,
    /// A trial that takes longer than this hangs.
    pub limit: Duration,
}

/// The arms. The control has the work in slices that yield, and the case has the work as
/// requested. The fixes follow. Each OTP has its own control.
pub(super) fn arms(
    params: &BlockingNifParams,
    host: &Host,
) -> Result<Arms<BlockingNifParams>, ScenarioError> {
    let params = resolved(params, host);
    let mode = params.mode;
    let paths = params.otp.words();
    let mut found = Arms::default();
    for path in &paths {
        let vm = host.otps.vm(path.as_deref())?;
        let all = emulator_flags(&params, &params.flags)?;
        erlang::accepted(&vm, &all)?;
        need_nif(mode, &vm)?;
        let name = |id: &str| if paths.len() > 1 { vm.named(id) } else { id.to_owned() };
        let params = BlockingNifParams { otp: Programs::one(&vm.word), ..params.clone() };
        let against = name("control");
        let control = BlockingNifParams { mode: mode.gentle(), ..params.clone() };
        found.arms.push(arm(&against, Role::Control, control));
        let case = arm(&name(&mode.to_string()), Role::Case, params.clone());
        found.arms.push(Arm { against: Some(against), ..case });
        if mode.blocks() {
            fixes(&params, &vm, &name, &mut found)?;
        }
    }
    erlang::distinct(&found)?;
    Ok(found)
}

/// The fixes: the work in another form, or other emulator flags.
fn fixes(
    params: &BlockingNifParams,
    vm: &Vm,
    name: &dyn Fn(&str) -> String,
    found: &mut Arms<BlockingNifParams>,
) -> Result<(), ScenarioError> {
    let mut add = |id: &str, params: BlockingNifParams, change: Changed| {
        let fix = arm(&name(id), Role::Fix, params);
        let against = Some(name("control"));
        found.arms.push(Arm { against, change: Some(change), ..fix });
    };
    for fix in params.fixes.parts() {
        let (form, change) = match fix {
            NifFix::Dirty => (params.mode.dirty(), BlockingNifFact::Dirty),
            NifFix::Charge => (params.mode.charged(), BlockingNifFact::Charges),
            NifFix::Flags(flags) => {
                let id = erlang::slug(flags.as_str());
                // Of a flag that stands twice, the emulator uses the last one.
                let all = params.flags.and(flags);
                match vm.otp.accepts(&emulator_flags(params, &all)?) {
                    Ok(()) => {
                        let params = BlockingNifParams { flags: all, ..params.clone() };
                        add(&id, params, Changed::Flags(flags.to_string()));
                    }
                    Err(why) => {
                        let why = WhyLeftOut::Flags(vm.refuses(flags, why));
                        found.left_out.push(LeftOut { id: name(&id), why });
                    }
                }
                continue;
            }
        };
        // A fix that needs a form which the work does not have is skipped.
        if let Some(mode) = form {
            let params = BlockingNifParams { mode, ..params.clone() };
            add(&mode.to_string(), params, Changed::Scenario(change.into()));
        }
    }
    Ok(())
}

/// Native modes need a NIF that could be compiled.
fn need_nif(mode: Mode, vm: &Vm) -> Result<(), ScenarioError> {
    match &vm.app.nif {
        Err(error) if mode.needs_nif() => {
            let (otp, error) = (vm.otp.release, error.to_string());
            Err(ScenarioError::Missing(Need::NativeFunctions { otp, error }))
        }
        _ => Ok(()),
    }
}

fn arm(id: &str, role: Role, settings: BlockingNifParams) -> Arm<BlockingNifParams> {
    Arm { id: id.to_owned(), role, settings, against: None, change: None }
}

/// The parameters with values for everything that is open. There are enough processes to give each
/// scheduler several, and calls are far longer than the millisecond that they should take. With
/// `+sfwi 10`, the VM checks for sleeping schedulers every 10 ms. This should leave little of the
/// run in which they sleep.
fn resolved(params: &BlockingNifParams, host: &Host) -> BlockingNifParams {
    let cpus = u32::try_from(host.machine.allowed_cpus.len()).unwrap_or(2).max(2);
    let (processes, work, calls) = match params.mode.is_md5() {
        true => (100, 1 << 20, 4),
        false => (cpus.saturating_mul(3).max(14), 10_000, 1),
    };
    BlockingNifParams {
        schedulers: params.schedulers.or(cpus),
        processes: params.processes.or(processes),
        work: params.work.or(work),
        calls: params.calls.or(calls),
        ..params.clone()
    }
}

/// The number of schedulers and the requested flags.
fn emulator_flags(params: &BlockingNifParams, flags: &ErlFlags) -> Result<Flags, ScenarioError> {
    let schedulers = params.schedulers.chosen("--schedulers")?;
    erlang::flags(&format!("+S {schedulers}:{schedulers} {flags}"))
}

/// Control and case of these parameters, as [`arms`] makes them, but without asking an OTP.
pub(super) fn sketch(
    params: &BlockingNifParams,
    host: &Host,
) -> Result<Cell<BlockingNifParams>, ScenarioError> {
    let params = resolved(params, host);
    emulator_flags(&params, &params.flags)?;
    let control = BlockingNifParams { mode: params.mode.gentle(), ..params.clone() };
    Ok(Cell::of_pair(control, params))
}

/// The trial for these parameters.
pub(super) fn spec(params: &BlockingNifParams, host: &Host) -> Result<TrialSpec, ScenarioError> {
    let path = params.otp.words().into_iter().next().flatten();
    let schedulers = params.schedulers.chosen("--schedulers")?;
    let processes = params.processes.chosen("--processes")?;
    Ok(TrialSpec {
        vm: host.otps.vm(path.as_deref())?,
        flags: emulator_flags(params, &params.flags)?,
        mode: params.mode,
        processes,
        watched: watched(processes, schedulers),
        work: params.work.chosen("--work")?,
        calls: params.calls.chosen("--calls")?,
        iterations: params.iterations,
        limit: params.time_limit.get(),
    })
}

/// Number of processes in the second run. Lateness needs less work than the measurement of sleep.
/// So half of the processes are enough, or as many as leave some waiting for each scheduler.
fn watched(processes: u32, schedulers: u32) -> u32 {
    (processes / 2).max(processes.min(schedulers.saturating_mul(3))).max(1)
}

/// Expected time of a trial if blocking work is done one call after the other, for the progress
/// bar.
pub(super) fn expected(params: &BlockingNifParams) -> Duration {
    let number = |open: Auto<u32>| open.get().map_or(1.0, f64::from);
    // A megabyte takes about two milliseconds.
    let md5 = if params.mode.is_md5() { 500.0 } else { 1.0 };
    let all = number(params.processes) * number(params.calls) * number(params.work) / md5 / 1e6;
    let parallel = if params.mode.blocks() { 1.0 } else { number(params.schedulers).max(1.0) };
    let limit = params.time_limit.get();
    // Half of the work is done a second time.
    SET_UP + 3 * Duration::from_secs_f64((all / parallel).min(1e6)).min(limit) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn each_mode_that_blocks_has_a_gentle_form() {
        for mode in Mode::value_variants() {
            assert!(!mode.gentle().blocks(), "{mode}");
            assert!(mode.dirty().is_none_or(|dirty| !dirty.blocks()), "{mode}");
            assert!(mode.charged().is_none_or(Mode::blocks), "{mode}");
            assert!(mode.blocking().blocks(), "{mode}");
            assert!(!mode.blocks() || mode.blocking() == *mode, "{mode}");
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
        let host = Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() };
        let params = BlockingNifParams { calls: Auto::Is(7), ..Default::default() };
        let chosen = resolved(&params, &host);
        assert_eq!(chosen.calls, Auto::Is(7));
        assert_eq!(chosen.schedulers, Auto::Is(2), "a collapse takes two schedulers");
        let md5 = BlockingNifParams { mode: Mode::Md5, ..params };
        assert_eq!(resolved(&md5, &host).work, Auto::Is(1 << 20));
    }
}
