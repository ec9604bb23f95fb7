//! Turns parameters into arms and trials.

use super::params::{QuotaBlindParams, QuotaGroup, Setting};
use super::programs::PATH;
use super::runtime::{self, Prepared};
use super::sentences::QuotaBlindFact;
use super::stream::{self, Asked, PART_MS, Spec};
use super::worker::Start;
use crate::params::{Auto, OrNone, Quota};
use crate::{Arms, Host, ScenarioError, quota};
use host::cgroup::Bandwidth;
use model::{Arm, Changed, Machine, Need, Role};
use os::time;
use std::time::Duration;

/// Estimated cost of starting and ending a runtime, besides the load. Used for the progress bar.
pub(super) const SET_UP: Duration = Duration::from_millis(900);

/// What this machine lacks for the scenario, judged by the PATH alone.
pub(super) fn missing(host: &Host) -> Option<Need> {
    if host.machine.allowed_cpus.len() == 1 {
        return Some(Need::Cpus { least: 2, allowed: 1 });
    }
    let none = runtime::chosen(&QuotaBlindParams::default()).err();
    none.or_else(|| quota::missing(host))
}

/// The arms. In the control, the runtime is given the number of CPUs that fits its quota. In the
/// case, it is given the number of `--told`, or uses its own default.
pub(super) fn arms(
    params: &QuotaBlindParams,
    host: &Host,
) -> Result<Arms<QuotaBlindParams>, ScenarioError> {
    if let Some(need) = too_few_cpus(params, host.machine) {
        return Err(ScenarioError::Missing(need));
    }
    if params.limit_at == QuotaGroup::Namespace && !rustix::process::geteuid().is_root() {
        let (what, grant) = (QuotaBlindFact::RootAlone.into(), QuotaBlindFact::BeRoot.into());
        return Err(ScenarioError::Missing(Need::Scenario { what, grant }));
    }
    // This check needs a privilege and takes no time, so it comes before compiling or starting
    // anything.
    quota::try_out(host, &params.quota.bandwidth(), None)?;
    let found = runtime::prepared(params, host.otps)?;
    let params = runtime::resolved(params, &found);
    let cpus = whole_cpus(params.quota);
    let setting = found.runtime.setting(cpus).text();
    let change = QuotaBlindFact::Told { setting: setting.as_str().into() }.into();
    let arm = |id: &str, role, settings, change| Arm {
        id: id.to_owned(),
        role,
        against: None,
        settings,
        change,
    };
    let told = QuotaBlindParams { told: OrNone::Is(cpus), ..params.clone() };
    let arms = vec![
        arm("told", Role::Control, told, Some(Changed::Scenario(change))),
        arm("default", Role::Case, params, None),
    ];
    Ok(arms.into())
}

/// The need for more CPUs than the quota amounts to. Without them the runtime cannot have more
/// threads at work than its quota allows, so the case would be the control.
fn too_few_cpus(params: &QuotaBlindParams, machine: &Machine) -> Option<Need> {
    let (whole, allowed) = (whole_cpus(params.quota), machine.allowed_cpus.len() as u64);
    (allowed <= u64::from(whole)).then(|| {
        let quota = (&params.quota).into();
        let what = QuotaBlindFact::QuotaOfAllCpus { quota, whole, allowed }.into();
        Need::Scenario { what, grant: QuotaBlindFact::LessQuota.into() }
    })
}

/// The number of whole CPUs that a program can keep busy with a quota.
pub(super) fn whole_cpus(quota: Quota) -> u32 {
    let Bandwidth { quota_us, period_us, .. } = quota.bandwidth();
    u32::try_from(quota_us.div_ceil(period_us.max(1))).unwrap_or(u32::MAX)
}

/// The settings of a trial. The groups to join are added later.
pub(super) fn spec(
    params: &QuotaBlindParams,
    host: &Host,
    seed: u64,
) -> Result<Spec, ScenarioError> {
    let found = runtime::prepared(params, host.otps)?;
    let request = params.request_rounds.chosen("--request-rounds")?;
    let job = params.job_rounds.chosen("--job-rounds")?;
    let ms = |time: crate::params::Time| time::ms(time.get());
    let ns = |time: crate::params::Time| time::whole_ns(time.get());
    let parts = (ms(params.job) / PART_MS).ceil().max(1.0);
    let rounds = |a_ms: u32, ms: f64| (f64::from(a_ms) * ms).round().max(1.0) as u32;
    let plan = stream::Plan {
        rate: params.rate,
        request_rounds: rounds(request, ms(params.request)),
        parts: parts as u32,
        part_rounds: rounds(job, ms(params.job) / parts),
        every_ns: ns(params.every),
        // The first job starts at a random time within the interval between two jobs.
        first_ns: seed % ns(params.every).max(1),
        duration_ns: ns(params.duration),
    };
    Ok(Spec { runtime: start(&found, params.told.get()), asked: Asked::Serve(plan) })
}

/// How to start the runtime. `told` is the number of CPUs for its setting, if it gets one.
pub(super) fn start(found: &Prepared, told: Option<u32>) -> Start {
    let mut command = found.command.clone();
    let mut variables: Vec<(String, String)> =
        [("PATH", PATH), ("HOME", "/"), ("LANG", "C.UTF-8"), ("ERL_CRASH_DUMP_SECONDS", "0")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
    match told.map(|cpus| found.runtime.setting(cpus)) {
        None => {}
        Some(Setting::Variable(name, value)) => variables.push((name.to_owned(), value)),
        Some(Setting::Flags(words)) => drop(command.splice(1..1, words)),
    }
    Start {
        command,
        variables,
        artifact: found.artifact.clone(),
        join: Vec::new(),
        namespace: false,
        user: found.user.map(|user| user.to_string()),
    }
}

/// Sets the speed of the worker's loops in arms that leave it open. `measure` is called once for
/// each runtime.
pub(super) fn set_speeds(
    arms: &mut [Arm<QuotaBlindParams>],
    mut measure: impl FnMut(&QuotaBlindParams) -> Result<[u32; 2], ScenarioError>,
) -> Result<(), ScenarioError> {
    let mut measured: Vec<(QuotaBlindParams, [u32; 2])> = Vec::new();
    let open = arms.iter_mut().map(|arm| &mut arm.settings).filter(|params| is_open(params));
    for params in open {
        let known = measured.iter().find(|(other, _)| is_same_program(other, params));
        let [request, job] = match known {
            Some((_, speed)) => *speed,
            None => {
                let speed = measure(params)?;
                measured.push((params.clone(), speed));
                speed
            }
        };
        params.request_rounds = params.request_rounds.or(request);
        params.job_rounds = params.job_rounds.or(job);
    }
    Ok(())
}

/// Whether the speed of at least one loop is open.
fn is_open(params: &QuotaBlindParams) -> bool {
    params.request_rounds == Auto::Auto || params.job_rounds == Auto::Auto
}

/// Whether two arms run the same program of the same runtime.
fn is_same_program(a: &QuotaBlindParams, b: &QuotaBlindParams) -> bool {
    a.runtime == b.runtime && a.program == b.program && a.otp == b.otp
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::super::params::Runtime;
    use super::*;
    use crate::params::Programs;
    use crate::testing;

    #[test]
    fn a_quota_comes_to_whole_cpus() {
        let cpus = |text: &str| whole_cpus(text.parse().unwrap());
        assert_eq!((cpus("50ms/100ms"), cpus("100ms/100ms"), cpus("150ms/100ms")), (1, 1, 2));
    }

    #[test]
    fn the_control_differs_by_what_the_runtime_is_told_alone() {
        let found = |runtime| Prepared {
            runtime,
            word: "/x".to_owned(),
            command: vec!["/x".to_owned(), "-cp".to_owned()],
            artifact: None,
            user: None,
        };
        let plain = start(&found(Runtime::Jvm), None);
        let told = start(&found(Runtime::Jvm), Some(1));
        assert_eq!(told.command, ["/x", "-XX:ActiveProcessorCount=1", "-cp"]);
        assert_eq!(plain, Start { command: plain.command.clone(), ..told });
        let (plain, told) = (start(&found(Runtime::Go), None), start(&found(Runtime::Go), Some(1)));
        assert_eq!(told.variables.last().unwrap().0, "GOMAXPROCS");
        assert_eq!(plain, Start { variables: plain.variables.clone(), ..told });
    }

    #[test]
    fn a_machine_needs_more_cpus_than_the_quota_amounts_to() {
        let need = |quota: &str, allowed: u32| {
            let machine = Machine { allowed_cpus: (0..allowed).collect(), ..Machine::default() };
            let quota = quota.parse().unwrap();
            too_few_cpus(&QuotaBlindParams { quota, ..QuotaBlindParams::default() }, &machine)
        };
        assert!(need("50ms/100ms", 1).is_some());
        assert_eq!(need("100ms/100ms", 2), None);
        let Some(Need::Scenario { what, .. }) = need("101ms/100ms", 2) else { panic!("no need") };
        assert!(testing::told(&META, &what).contains("keep 2 CPUs busy"));
        assert_eq!(need("101ms/100ms", 3), None);
    }

    #[test]
    fn the_speed_is_measured_once_for_each_runtime() {
        let of = |runtime, program: &str| {
            let (runtime, program) = (Auto::Is(runtime), Programs::one(program));
            let params = QuotaBlindParams { runtime, program, ..QuotaBlindParams::default() };
            model::testing::arm("default", Role::Case).map(|_| params)
        };
        let go = || of(Runtime::Go, "/x");
        let mut given = go();
        given.settings.request_rounds = Auto::Is(7);
        let mut arms = [go(), of(Runtime::Jvm, "/x"), go(), of(Runtime::Go, "/y"), given];
        let mut times = 0;
        let measure = |_: &QuotaBlindParams| {
            times += 1;
            Ok([times, 10 * times])
        };
        set_speeds(&mut arms, measure).unwrap();
        assert_eq!(times, 3);
        let rounds = arms.each_ref().map(|arm| {
            let QuotaBlindParams { request_rounds, job_rounds, .. } = &arm.settings;
            (request_rounds.get().unwrap(), job_rounds.get().unwrap())
        });
        assert_eq!(rounds, [(1, 10), (2, 20), (1, 10), (3, 30), (7, 10)]);
    }
}
