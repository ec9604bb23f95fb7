//! Checks whether this machine can do what the parameters request. The checks change nothing.

use super::margin::judging;
use super::params::MmapLockParams;
use super::place::{missing, place};
use super::sentences::MmapLockFact;
use crate::params::{Quota, Time};
use crate::{Host, ScenarioError};
use host::limits;
use model::{Amount, Name, Need, Unit};
use std::time::Duration;

/// The part of the available memory that the region may take.
const MEMORY_SHARE: f64 = 0.8;

/// A call of mmap or munmap takes longer than this on any machine.
const SHORTEST_CALL: Duration = Duration::from_micros(1);

/// Readers with a quota must be throttled for this multiple of the margin. A mapper does not stall
/// for all of that time, and the whole interval of its loss must lie above the margin.
const ROOM: f64 = 1.25;

/// In a trial of more periods than this, the margin is hardly smaller.
const MOST_PERIODS: u32 = 40;

/// A trial must be as long as this many pauses of the mapper. Otherwise it sees the lock at a few
/// moments only, and a mapper that still sleeps when the time is over counts as hung.
const PAUSES: u32 = 10;

/// Runs all checks.
///
/// # Errors
/// If a value cannot be used on this machine, or needs a privilege that is missing.
pub(super) fn check(params: &MmapLockParams, host: &Host) -> Result<(), ScenarioError> {
    if let Some(missing) = missing(host.machine) {
        return Err(ScenarioError::Missing(missing));
    }
    check_procfile(params, host)?;
    check_size(params, host)?;
    check_mappings(params, host)?;
    check_processes(params, host)?;
    check_nice(params)?;
    check_pause(params)?;
    check_reader_quota(params)?;
    place(params, host).map(|_| ())
}

fn check_procfile(params: &MmapLockParams, host: &Host) -> Result<(), ScenarioError> {
    let file = params.procfile.as_str();
    let path = host.roots.proc.join("self").join(file);
    let named = || (Name::from(file), Name::from(&path.display()));
    let no_file = |error: Option<String>| {
        let (file, path) = named();
        MmapLockFact::NoFile { file, path, error: error.map(Name) }
    };
    let fact = match std::fs::metadata(&path) {
        Err(error) => no_file(Some(error.to_string())),
        Ok(metadata) if !metadata.is_file() => no_file(None),
        Ok(_) => match is_empty(&path) {
            Ok(false) => return Ok(()),
            Ok(true) => {
                let (file, path) = named();
                MmapLockFact::EmptyFile { file, path }
            }
            Err(error) => no_file(Some(error.to_string())),
        },
    };
    Err(ScenarioError::unusable(fact))
}

/// Whether reading a file gives nothing. The size does not show this: for most files of /proc the
/// kernel states a size of zero.
fn is_empty(path: &std::path::Path) -> std::io::Result<bool> {
    use std::io::Read;
    let mut byte = [0];
    os::file::open_regular(path)?.read(&mut byte).map(|count| count == 0)
}

fn check_size(params: &MmapLockParams, host: &Host) -> Result<(), ScenarioError> {
    let size = params.size;
    let Some(available) = limits::memory_available(host.roots) else {
        return Ok(());
    };
    // One region for the mapper, and one for its twin.
    let twin = params.busy.most() > 0;
    let regions = if twin { 2.0 } else { 1.0 };
    if size.get() as f64 * regions <= available as f64 * MEMORY_SHARE {
        return Ok(());
    }
    let (size, most, mib) = ((&size).into(), MEMORY_SHARE, available >> 20);
    Err(ScenarioError::unusable(MmapLockFact::TooLarge { size, twin, most, mib }))
}

/// Whether the mapper exceeds a limit of `most` mappings.
///
/// In the long run, a region splits into one mapping for every four pages, because each page is
/// mapped or unmapped at random. If the region and the number of calls are both large enough for
/// that, the mapper exceeds the limit.
pub(super) fn exceeds_mappings(params: &MmapLockParams, most: u64) -> bool {
    let call = params.pause.get() + SHORTEST_CALL;
    let calls = params.duration.get().as_nanos() / call.as_nanos();
    params.pages() / 4 >= most && calls >= u128::from(most)
}

fn check_mappings(params: &MmapLockParams, host: &Host) -> Result<(), ScenarioError> {
    let Some(most) = limits::max_map_count(host.roots) else { return Ok(()) };
    if !exceeds_mappings(params, most) {
        return Ok(());
    }
    let (size, enough) = ((&params.size).into(), params.pages() / 4 + most);
    Err(ScenarioError::unusable(MmapLockFact::TooManyMappings { size, most, enough }))
}

fn check_pause(params: &MmapLockParams) -> Result<(), ScenarioError> {
    let most = params.duration.get() / PAUSES;
    if params.pause.get() <= most {
        return Ok(());
    }
    let (pause, duration) = ((&params.pause).into(), (&params.duration).into());
    let most = (&Time::from(most)).into();
    Err(ScenarioError::unusable(MmapLockFact::PauseTooLong { pause, duration, most }))
}

/// Refuses a quota of the readers that limits nothing: one that readers on one CPU cannot use up,
/// one with a period longer than a trial, or one without readers. Also refuses a quota whose effect
/// cannot exceed the margin.
fn check_reader_quota(params: &MmapLockParams) -> Result<(), ScenarioError> {
    let Some(quota) = params.reader_quota.get() else { return Ok(()) };
    let named = Name::from(&quota);
    let fact = match () {
        () if quota.quota() >= quota.period() => MmapLockFact::QuotaOfACpu { quota: named },
        () if params.duration < quota.period() => MmapLockFact::PeriodTooLong { quota: named },
        () if params.busy.most() == 0 => MmapLockFact::NoReaders { quota: named },
        () if !exceeds_margin(quota, params) => margin_too_large(quota, params),
        () => return Ok(()),
    };
    Err(ScenarioError::unusable(fact))
}

/// Longest time in which readers with this quota are throttled, in milliseconds per second.
fn throttled_most(quota: Quota) -> f64 {
    let share = quota.quota().get().as_secs_f64() / quota.period().get().as_secs_f64();
    1e3 * (1.0 - share)
}

/// Whether a stall for as long as the readers are throttled exceeds the margin clearly.
fn exceeds_margin(quota: Quota, params: &MmapLockParams) -> bool {
    ROOM * judging(params).margin <= throttled_most(quota)
}

fn margin_too_large(quota: Quota, params: &MmapLockParams) -> MmapLockFact {
    let rate = |ms: f64| Amount::exact(ms, Unit::MillisecondsPerSecond);
    let longer = long_enough(quota, params);
    MmapLockFact::MarginTooLarge {
        quota: (&quota).into(),
        throttled: rate(throttled_most(quota)),
        margin: rate(judging(params).margin),
        longer: longer.as_ref().map(Name::from),
    }
}

/// The shortest trial with which the quota can be used. None: only a smaller quota helps.
fn long_enough(quota: Quota, params: &MmapLockParams) -> Option<Time> {
    let can_be_set = |length: &Time| {
        *length > params.duration && length.get().subsec_nanos().is_multiple_of(1_000_000)
    };
    // The margin is smallest for whole periods.
    let lengths = (1..=MOST_PERIODS).map(|periods| Time::from(quota.period().get() * periods));
    lengths.filter(can_be_set).find(|duration| {
        exceeds_margin(quota, &MmapLockParams { duration: *duration, ..params.clone() })
    })
}

fn check_processes(params: &MmapLockParams, host: &Host) -> Result<(), ScenarioError> {
    let most = params.busy.most();
    let wanted = u64::from(most) + u64::from(params.spinners_beside(most));
    match limits::pid_max(host.roots) {
        Some(limit) if wanted > limit / 2 => {
            let fact = MmapLockFact::TooManyProcesses { busy: most, wanted, limit };
            Err(ScenarioError::unusable(fact))
        }
        _ => Ok(()),
    }
}

fn check_nice(params: &MmapLockParams) -> Result<(), ScenarioError> {
    let nice = params.nice;
    if limits::can_renice_to(nice) {
        return Ok(());
    }
    Err(ScenarioError::Missing(Need::Priority { nice }))
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use crate::params::{Auto, Counts, OrNone, Size, Time, literal};
    use crate::testing;
    use model::Machine;

    fn params(busy: &[u32]) -> MmapLockParams {
        MmapLockParams { busy: Counts::new(busy.to_vec()), ..MmapLockParams::default() }
    }

    #[test]
    fn values_that_cannot_work_here_are_refused() {
        let machine = Machine::default();
        let files = [("proc/sys/vm/max_map_count", "65530"), ("proc/sys/kernel/pid_max", "32768")];
        let tree = ::testing::Tree::new(&files);
        let roots = host::Roots::at(tree.root());
        let host = Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() };
        let refused = testing::refused(&META, check_processes(&params(&[10_000]), &host));
        assert!(refused.starts_with("--busy 10000: 20000 processes are more"), "{refused}");
        assert!(check_processes(&params(&[1000]), &host).is_ok());
        let spinners = |count| MmapLockParams { spinners: Auto::Is(count), ..params(&[7_000]) };
        assert!(check_processes(&spinners(0), &host).is_ok(), "7000 processes");
        let refused = testing::refused(&META, check_processes(&spinners(10_000), &host));
        assert!(refused.starts_with("--busy 7000: 17000 processes are more"), "{refused}");
        let mut large = MmapLockParams { size: Size::mib(4096), ..params(&[1]) };
        assert!(check_mappings(&large, &host).is_ok(), "too few calls to split it that far");
        large.duration = Time::s(10);
        let refused = testing::refused(&META, check_mappings(&large, &host));
        assert!(refused.contains("vm.max_map_count (65530) allows"), "{refused}");
        let refused = testing::refused(&META, check_procfile(&params(&[1]), &host));
        assert!(refused.contains("such as smaps, maps or status"), "{refused}");
        tree.put("proc/self/smaps", "");
        let refused = testing::refused(&META, check_procfile(&params(&[1]), &host));
        assert!(refused.contains("self/smaps is empty"), "{refused}");
        tree.put("proc/self/smaps", "x");
        assert!(check_procfile(&params(&[1]), &host).is_ok());
        tree.put("proc/meminfo", "MemAvailable: 4096 kB");
        let refused = testing::refused(&META, check_size(&params(&[1]), &host));
        assert!(refused.contains("of the 4 MiB of memory"), "{refused}");
    }

    #[test]
    fn a_quota_that_limits_nothing_is_refused() {
        let quota = |text: &'static str| MmapLockParams {
            reader_quota: OrNone::Is(literal(text)),
            ..params(&[4])
        };
        assert!(check_reader_quota(&quota("10ms/100ms")).is_ok());
        let refused = |params| testing::refused(&META, check_reader_quota(&params));
        assert!(refused(quota("100ms/100ms")).contains("limits nothing"));
        let long = refused(quota("100ms/1s"));
        assert!(long.contains("is shorter than a period"), "{long}");
        assert!(long.ends_with("take a shorter period or a longer --duration"), "{long}");
        let none = MmapLockParams { busy: Counts::one(0), ..quota("10ms/100ms") };
        assert!(refused(none).contains("no readers to limit"));
    }

    #[test]
    fn a_quota_whose_effect_the_margin_hides_is_refused() {
        let quota = |text: &'static str, duration: u64| MmapLockParams {
            reader_quota: OrNone::Is(literal(text)),
            duration: Time::ms(duration),
            ..params(&[4])
        };
        assert!(check_reader_quota(&quota("19ms/100ms", 250)).is_ok());
        let refused = |params| testing::refused(&META, check_reader_quota(&params));
        // Four refills of 21 ms, and an overrun as long: 672 ms of each second.
        let sentence = refused(quota("21ms/100ms", 250));
        assert!(sentence.contains("for 790 ms/s at most") && sentence.contains("672 ms/s"));
        assert!(sentence.ends_with("or a --duration of 300ms"), "{sentence}");
        assert!(check_reader_quota(&quota("21ms/100ms", 300)).is_ok());
        // Above two sevenths of a period, no trial is long enough.
        let sentence = refused(quota("29ms/100ms", 250));
        assert!(sentence.ends_with("such as 10ms/100ms"), "{sentence}");
        assert!(!exceeds_margin(literal("29ms/100ms"), &quota("29ms/100ms", 3_600_000)));
    }

    #[test]
    fn a_trial_has_room_for_many_pauses() {
        let pause = |ms| MmapLockParams { pause: Time::ms(ms), ..params(&[1]) };
        assert!(check_pause(&params(&[1])).is_ok() && check_pause(&pause(25)).is_ok());
        let refused = testing::refused(&META, check_pause(&pause(26)));
        assert!(refused.starts_with("--pause 26ms: "), "{refused}");
        assert!(refused.contains("--duration of 250ms") && refused.contains("take 25ms or less"));
        let quick = MmapLockParams { duration: Time::ms(10), ..params(&[1]) };
        assert!(check_pause(&quick).is_ok(), "the usual pause fits into the shortest trial");
    }
}
