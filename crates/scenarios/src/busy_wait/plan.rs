//! From knobs to arms and scripts.

use super::meta::{DEFAULT, FLAGS};
use crate::erlang::{self, Vm};
use crate::{Arms, Cell, ScenarioError, Site};
use beam::Flags;
use host::cgroup::{Bandwidth, BandwidthGroup, Home, sweep};
use model::{Arm, LeftOut, Role, Settings, Value};
use std::time::Duration;

/// What starting and ending a node costs beside the load, roughly, for the progress bar.
const SET_UP: Duration = Duration::from_millis(900);

/// What is played in a trial.
#[derive(Debug, Clone)]
pub(super) struct Script {
    /// The OTP and the compiled application.
    pub vm: Vm,
    /// Emulator flags.
    pub flags: Flags,
    /// What a request is.
    pub load: String,
    /// Requests a second.
    pub rate: u64,
    /// Processes that serve them.
    pub workers: u64,
    /// Processes that do background work.
    pub background: u64,
    /// The quota of the node's group; none where it runs free.
    pub bandwidth: Option<Bandwidth>,
    /// Whether strace counts calls of futex.
    pub strace: bool,
    /// How long the node rests before requests arrive.
    pub settle: Duration,
    /// How long requests arrive.
    pub duration: Duration,
}

/// The arms: the flags that are tried, free; the VM's defaults, free; and both under the quota,
/// beside other flags that may mend it.
pub(super) fn arms(settings: &Settings, site: &Site) -> Result<Arms, ScenarioError> {
    let settings = resolved(settings, site);
    let paths = erlang::paths(settings.text("erl").unwrap_or("auto"));
    let [path] = paths.as_slice() else {
        return Err(ScenarioError::Unusable(
            "--erl: one OTP at a time; several make a study (tailback study --help)".to_owned(),
        ));
    };
    let vm = erlang::vm(path.as_deref())?;
    let plain = defaults(&settings);
    erlang::accepted(&vm, &emulator_flags(&plain)?)?;
    let refusal = vm.otp.accepts(&emulator_flags(&settings)?).err();
    let mut found = free_arms(&settings, &plain, &vm, refusal.as_deref());
    match has_quota(&settings, site) {
        Ok(true) => {
            if settings.text("free") == Some("no") {
                found.arms.retain(|arm| arm.role == Role::Control);
            }
            found.arms.push(arm(&vm, "defaults-quota", Role::Case, &plain));
            if refusal.is_none() {
                let mut fix = arm(&vm, "flags-quota", Role::Fix, &settings);
                fix.change = Some(changed_flags(&settings));
                found.arms.push(fix);
            }
            other_fixes(&plain, &vm, &mut found)?;
        }
        Ok(false) => {}
        Err(why) => found.left_out.push(left_out("defaults-quota, flags-quota", &why)),
    }
    Ok(found)
}

/// For a study: a node with these very flags under this very quota. Its control has the same flags
/// and no quota; where there is none it is that case itself.
pub(super) fn cell(settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
    let settings = resolved(settings, site);
    let paths = erlang::paths(settings.text("erl").unwrap_or("auto"));
    let [path] = paths.as_slice() else {
        return Err(ScenarioError::Unusable(
            "erl: one OTP in a level; several are levels of a factor".to_owned(),
        ));
    };
    let vm = erlang::vm(path.as_deref())?;
    vm.otp.accepts(&emulator_flags(&settings)?).map_err(|why| {
        let flags = changed_flags(&settings);
        ScenarioError::Unusable(format!("OTP {} refuses {flags}: {why}", vm.otp.release))
    })?;
    has_quota(&settings, site).map_err(ScenarioError::Unusable)?;
    Ok(Cell {
        control: arm(&vm, "control", Role::Control, &with_quota(&settings, "none")),
        case: arm(&vm, "case", Role::Case, &settings),
    })
}

/// The arms without a quota, the control first: where an OTP refuses the flags, its defaults.
fn free_arms(settings: &Settings, plain: &Settings, vm: &Vm, refusal: Option<&str>) -> Arms {
    let free = |settings: &Settings| with_quota(settings, "none");
    let mut found = Arms::default();
    match refusal {
        None => {
            found.arms.push(arm(vm, "flags", Role::Control, &free(settings)));
            found.arms.push(arm(vm, "defaults", Role::Case, &free(plain)));
        }
        Some(why) => {
            let tried = changed_flags(settings);
            let why = format!("OTP {} refuses {tried}: {why}", vm.otp.release);
            found.left_out.push(left_out("flags, flags-quota", &why));
            found.arms.push(arm(vm, "defaults", Role::Control, &free(plain)));
        }
    }
    found
}

/// The arms of the knob `fixes`: the VM's defaults and some flags each, under the quota.
fn other_fixes(plain: &Settings, vm: &Vm, found: &mut Arms) -> Result<(), ScenarioError> {
    let base = plain.text("flags").unwrap_or_default();
    for flags in erlang::between_semicolons(plain.text("fixes").unwrap_or_default()) {
        let mut settings = plain.clone();
        settings.set("flags", Value::Text(format!("{base} {flags}").trim().to_owned()));
        let id = format!("{}-quota", erlang::slug(flags));
        match vm.otp.accepts(&emulator_flags(&settings)?) {
            Ok(()) => {
                let mut fix = arm(vm, &id, Role::Fix, &settings);
                fix.change = Some(flags.to_owned());
                found.arms.push(fix);
            }
            Err(why) => {
                let why = format!("OTP {} refuses {flags}: {why}", vm.otp.release);
                found.left_out.push(left_out(&id, &why));
            }
        }
    }
    Ok(())
}

fn left_out(id: &str, why: &str) -> LeftOut {
    LeftOut { id: id.to_owned(), why: why.to_owned() }
}

fn arm(vm: &Vm, id: &str, role: Role, settings: &Settings) -> Arm {
    let mut settings = settings.clone();
    settings.set("erl", Value::Text(vm.otp.erl.display().to_string()));
    Arm { id: id.to_owned(), role, settings, against: None, change: None }
}

/// Whether there is a quota and a place for groups; why there is no place.
///
/// What a run that was killed left behind goes first, and the quota is tried out, so that a refusal
/// comes before anything is measured.
fn has_quota(settings: &Settings, site: &Site) -> Result<bool, String> {
    let Some(bandwidth) = bandwidth(settings) else { return Ok(false) };
    let home = Home::find(site.roots).map_err(|error| error.to_string())?;
    sweep(&home);
    let trial = BandwidthGroup::create(&home).map_err(|error| error.to_string())?;
    trial.set(&bandwidth).map_err(|error| error.to_string())?;
    trial.remove().map_err(|error| error.to_string())?;
    Ok(true)
}

/// Quota and period in the kernel's microseconds.
fn bandwidth(settings: &Settings) -> Option<Bandwidth> {
    let cpus = settings.decimal("quota")?;
    let period_us = settings.duration("period")?.as_micros();
    let period_us = u64::try_from(period_us).unwrap_or(u64::MAX);
    // The kernel takes no quota below a millisecond.
    let quota_us = ((cpus * period_us as f64).round() as u64).max(1000);
    Some(Bandwidth { quota_us, period_us, burst_us: 0 })
}

fn with_quota(settings: &Settings, quota: &str) -> Settings {
    let mut settings = settings.clone();
    settings.set("quota", Value::Text(quota.to_owned()));
    settings
}

/// The same settings with the VM's own flags.
fn defaults(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    for (knob, _) in FLAGS {
        settings.set(knob, Value::Text(DEFAULT.to_owned()));
    }
    settings
}

fn resolved(settings: &Settings, site: &Site) -> Settings {
    let mut resolved = settings.clone();
    if settings.number("schedulers").is_none() {
        let cpus = i64::try_from(site.machine.allowed_cpus.len()).unwrap_or(8).max(8);
        resolved.set("schedulers", Value::Number(cpus));
    }
    resolved
}

/// The flags that the knobs change, ready to be pasted.
pub(super) fn changed_flags(settings: &Settings) -> String {
    let changed = FLAGS.iter().filter_map(|(knob, flag)| {
        let value = settings.text(knob).filter(|value| *value != DEFAULT && !value.is_empty())?;
        Some(format!("{flag} {value}"))
    });
    let words: Vec<String> = changed.collect();
    if words.is_empty() { "the VM's defaults".to_owned() } else { words.join(" ") }
}

/// The flags of an arm: schedulers, those of every arm, and those that the knobs change.
fn emulator_flags(settings: &Settings) -> Result<Flags, ScenarioError> {
    let schedulers = settings.number("schedulers").unwrap_or(8);
    let base = settings.text("flags").unwrap_or_default();
    let changed = match changed_flags(settings) {
        words if words.starts_with('+') => words,
        _ => String::new(),
    };
    erlang::flags(&format!("+S {schedulers}:{schedulers} {base} {changed}"))
}

/// Control and case of these settings, as [`cell`] makes them, without asking an OTP.
pub(super) fn sketch(settings: &Settings, site: &Site) -> Result<Cell, ScenarioError> {
    let settings = resolved(settings, site);
    emulator_flags(&settings)?;
    Ok(Cell::of_settings(with_quota(&settings, "none"), settings))
}

/// What a trial of these settings plays.
pub(super) fn script(settings: &Settings) -> Result<Script, ScenarioError> {
    let number =
        |knob: &str| settings.number(knob).and_then(|n| u64::try_from(n).ok()).unwrap_or(1);
    let path = erlang::paths(settings.text("erl").unwrap_or("auto"));
    Ok(Script {
        vm: erlang::vm(path.first().and_then(Option::as_deref))?,
        flags: emulator_flags(settings)?,
        load: settings.text("load").unwrap_or("port").to_owned(),
        rate: number("rate"),
        workers: number("workers"),
        background: number("background"),
        bandwidth: bandwidth(settings),
        strace: settings.text("strace") == Some("yes"),
        settle: settle(settings),
        duration: settings.duration("duration").unwrap_or(Duration::from_secs(1)),
    })
}

/// Two periods of the quota, in every arm alike: starting the node and what its requests need uses up
/// quota, and the throttling that follows is none of the load's.
fn settle(settings: &Settings) -> Duration {
    settings.duration("period").unwrap_or_default() * 2
}

/// How long a trial takes, for the progress bar.
pub(super) fn expected(settings: &Settings) -> Duration {
    SET_UP + settle(settings) + settings.duration("duration").unwrap_or_default()
}
