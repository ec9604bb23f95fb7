//! Turns parameters into arms and trials.

use super::params::{BusyWaitParams, Load};
use super::sentences::BusyWaitFact;
use crate::erlang::{self, Vm};
use crate::params::{Decimal, OrNone, Programs};
use crate::{Arms, Cell, Host, ScenarioError, quota};
use beam::Flags;
use host::cgroup::Bandwidth;
use model::problem::{Problem, RefusedFlags};
use model::{Arm, Changed, LeftOut, Need, Role, WhyLeftOut};
use os::time;
use std::time::Duration;

/// Estimated cost of starting and ending a node, without the load. Used for the progress bar.
const SET_UP: Duration = Duration::from_millis(450);

/// Requests per second if the rate is open and there is no quota to calibrate it for.
const USUAL_RATE: u32 = 5000;

/// Workers for each CPU of the quota, the least and the most of them, if their number is open.
/// Each worker has its own port program if requests go through ports.
const WORKERS: (f64, f64, f64) = (64.0, 32.0, 1000.0);

/// What a trial runs.
#[derive(Debug, Clone)]
pub(super) struct TrialSpec {
    /// The OTP and the compiled application.
    pub vm: Vm,
    /// Emulator flags.
    pub flags: Flags,
    /// Kind of a request.
    pub load: Load,
    /// Requests per second.
    pub rate: u32,
    /// Number of processes that serve requests.
    pub workers: u32,
    /// Number of processes that do background work.
    pub background: u32,
    /// Quota of the node's group. None: the node runs without a quota.
    pub bandwidth: Option<Bandwidth>,
    /// Whether strace counts futex calls.
    pub strace: bool,
    /// How long the node rests before requests arrive.
    pub settle: Duration,
    /// How long requests arrive.
    pub duration: Duration,
}

/// The arms. The control is the node with the flags under test, and the case is the node with the
/// VM's defaults, both under the quota. The fixes have other flags. The baselines are control and
/// case without the quota, if requested.
///
/// With `--quota none`, control and case run without a quota. The review knows that this decides
/// nothing about a quota.
pub(super) fn arms(
    params: &BusyWaitParams,
    host: &Host,
) -> Result<Arms<BusyWaitParams>, ScenarioError> {
    let params = resolved(params, host);
    let path = only_path(&params).ok_or_else(|| ScenarioError::unusable(BusyWaitFact::OneOtp))?;
    // This check needs a privilege and takes no time, so it comes before compiling or starting
    // anything.
    let bandwidth = bandwidth(&params);
    if let Some(bandwidth) = &bandwidth {
        quota::try_out(host, bandwidth, None)?;
    }
    let vm = host.otps.vm(path.as_deref())?;
    let params = BusyWaitParams { otp: Programs::one(&vm.word), ..params };
    let plain = params.with_the_vms_flags();
    erlang::accepted(&vm, &emulator_flags(&plain)?)?;
    // If the OTP refuses the flags, there is no control and therefore no result.
    takes(&vm, &params)?.map_err(|refused| ScenarioError::Missing(Need::Flags(refused)))?;
    let mut found = Arms::default();
    if bandwidth.is_none() {
        found.arms.push(control("flags", &params));
        found.arms.push(arm("defaults", Role::Case, &plain));
        if !plain.fixes.parts().is_empty() {
            let why = WhyLeftOut::Scenario(BusyWaitFact::QuotaAlone.into());
            found.left_out.push(LeftOut { id: "fixes".to_owned(), why });
        }
        return Ok(found);
    }
    found.arms.push(control("flags-quota", &params));
    found.arms.push(arm("defaults-quota", Role::Case, &plain));
    other_fixes(&plain, &vm, &mut found)?;
    if params.free.is_yes() {
        for (id, params) in [("flags", &params), ("defaults", &plain)] {
            let free = BusyWaitParams { quota: OrNone::None, ..params.clone() };
            found.arms.push(arm(id, Role::Baseline, &free));
        }
    }
    Ok(found)
}

/// The one OTP of the parameters, where None means the `erl` on the PATH. Returns None if there
/// are several.
fn only_path(params: &BusyWaitParams) -> Option<Option<String>> {
    let [path] = <[Option<String>; 1]>::try_from(params.otp.words()).ok()?;
    Some(path)
}

/// The node with the flags under test. The arm names what they change in the VM's defaults,
/// because the case stalls without this change.
fn control(id: &str, params: &BusyWaitParams) -> Arm<BusyWaitParams> {
    let change = Some(params.changed_flags()).filter(|flags| !flags.is_empty());
    Arm { change: change.map(Changed::Flags), ..arm(id, Role::Control, params) }
}

/// Whether an OTP accepts the flags of the parameters.
fn takes(vm: &Vm, params: &BusyWaitParams) -> Result<Result<(), RefusedFlags>, ScenarioError> {
    let flags = emulator_flags(params)?;
    Ok(vm.otp.accepts(&flags).map_err(|why| vm.refuses(flags_in_words(params), why)))
}

/// For a study: the case is a node with exactly these flags under this quota. Its control is the
/// same node without busy waiting, under the same quota. If the flags already switch busy waiting
/// off, the control equals the case.
pub(super) fn cell(
    params: &BusyWaitParams,
    host: &Host,
) -> Result<Cell<BusyWaitParams>, ScenarioError> {
    let params = resolved(params, host);
    let path =
        only_path(&params).ok_or_else(|| ScenarioError::unusable(BusyWaitFact::OneOtpALevel))?;
    let vm = host.otps.vm(path.as_deref())?;
    let params = BusyWaitParams { otp: Programs::one(&vm.word), ..params };
    let quiet = params.without_spinning();
    for params in [&params, &quiet] {
        takes(&vm, params)?.map_err(|refused| ScenarioError::Unusable(Problem::Flags(refused)))?;
    }
    if let Some(bandwidth) = bandwidth(&params) {
        quota::try_out(host, &bandwidth, None)?;
    }
    Ok(Cell::of_settings(quiet, params))
}

/// The arms of `--fixes`: the VM's defaults plus some flags each, under the quota.
fn other_fixes(
    plain: &BusyWaitParams,
    vm: &Vm,
    found: &mut Arms<BusyWaitParams>,
) -> Result<(), ScenarioError> {
    for flags in plain.fixes.parts() {
        let params = BusyWaitParams { flags: plain.flags.and(flags), ..plain.clone() };
        let id = format!("{}-quota", erlang::slug(flags.as_str()));
        match vm.otp.accepts(&emulator_flags(&params)?) {
            Ok(()) => {
                let change = Some(Changed::Flags(flags.to_string()));
                found.arms.push(Arm { change, ..arm(&id, Role::Fix, &params) });
            }
            Err(why) => {
                found.left_out.push(LeftOut { id, why: WhyLeftOut::Flags(vm.refuses(flags, why)) })
            }
        }
    }
    Ok(())
}

fn arm(id: &str, role: Role, params: &BusyWaitParams) -> Arm<BusyWaitParams> {
    Arm { id: id.to_owned(), role, settings: params.clone(), against: None, change: None }
}

/// Quota and period in microseconds, as the kernel takes them.
pub(super) fn bandwidth(params: &BusyWaitParams) -> Option<Bandwidth> {
    let cpus = params.quota.get()?.get();
    let period_us = time::whole_us(params.period.get());
    // The kernel accepts no quota below a millisecond.
    let quota_us = ((cpus * period_us as f64).round() as u64).max(1000);
    Some(Bandwidth { quota_us, period_us, burst_us: 0 })
}

fn resolved(params: &BusyWaitParams, host: &Host) -> BusyWaitParams {
    let cpus = u32::try_from(host.machine.allowed_cpus.len()).unwrap_or(8).max(8);
    let (of_cpu, least, most) = WORKERS;
    let workers = params.quota.get().map_or(0.0, Decimal::get) * of_cpu;
    BusyWaitParams {
        schedulers: params.schedulers.or(cpus),
        workers: params.workers.or(workers.clamp(least, most).ceil() as u32),
        ..params.clone()
    }
}

/// How the flags of a node differ from a plain `erl`, in words.
pub(super) fn flags_in_words(params: &BusyWaitParams) -> String {
    let flags = params.changed_flags();
    if flags.is_empty() { "the VM's defaults".to_owned() } else { flags }
}

/// The flags of an arm: the schedulers, the flags of every arm, and those that parameters change.
fn emulator_flags(params: &BusyWaitParams) -> Result<Flags, ScenarioError> {
    let schedulers = params.schedulers.chosen("--schedulers")?;
    let (base, changed) = (&params.flags, params.changed_flags());
    erlang::flags(&format!("+S {schedulers}:{schedulers} {base} {changed}"))
}

/// Control and case of these parameters, as [`cell`] makes them, but without asking an OTP.
pub(super) fn sketch(
    params: &BusyWaitParams,
    host: &Host,
) -> Result<Cell<BusyWaitParams>, ScenarioError> {
    let params = resolved(params, host);
    emulator_flags(&params)?;
    Ok(Cell::of_settings(params.without_spinning(), params))
}

/// The trial for these parameters.
pub(super) fn spec(params: &BusyWaitParams, host: &Host) -> Result<TrialSpec, ScenarioError> {
    let path = params.otp.words().into_iter().next().flatten();
    Ok(TrialSpec {
        vm: host.otps.vm(path.as_deref())?,
        flags: emulator_flags(params)?,
        load: params.load,
        // Without a quota, no rate was calibrated.
        rate: params.rate.get().unwrap_or(USUAL_RATE),
        workers: params.workers.chosen("--workers")?,
        background: params.background,
        bandwidth: bandwidth(params),
        strace: params.strace.is_yes(),
        settle: settle(params),
        duration: params.duration.get(),
    })
}

/// Two periods of the quota, the same in every arm. Starting the node and its request processes
/// uses quota. The throttling that follows must not count for the load.
fn settle(params: &BusyWaitParams) -> Duration {
    params.period.get() * 2
}

/// How long a trial takes, for the progress bar.
pub(super) fn expected(params: &BusyWaitParams) -> Duration {
    SET_UP + settle(params) + params.duration.get()
}
