//! Turns parameters into arms, and into the settings of a trial, checked against the machine.

use super::file_systems::{DISK, EXT4};
use super::params::{IoJournalParams, JournalFix, LEAST_PAGES, On};
use super::sentences::IoJournalFact;
use super::stage::StageSpec;
use crate::params::{Size, Time};
use crate::{Arms, Host, ScenarioError};
use host::cgroup::{CgroupError, IoGroup, NoIo, ParentGroup, sweep};
use host::memory_disk::{self, MemoryDisk};
use host::program;
use model::{Arm, Changed, Need, Problem, Role};
use os::{loop_device, time};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::param::page_size;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Estimated cost of the set-up of a trial, besides its duration. Used for the progress bar.
const SET_UP: Duration = Duration::from_millis(400);

/// A trial must be as long as this many pauses. Otherwise it has too few calls.
const PAUSES: u32 = 5;

/// Size of the partitions of a disk that is only tried out, in bytes.
const TRIED: u64 = 1 << 20;

/// The program that makes a file system.
const MKFS: &str = "mkfs.ext4";

/// The longest time for which the cap may hold a round back. A `sync` of another program waits as
/// long.
const LONGEST: Duration = Duration::from_secs(10);

/// Refuses parameters that leave too few calls in a trial, or hold up others for long.
///
/// # Errors
/// If the pause is too long for the trial, or the cap is too small for a round.
pub(super) fn check(params: &IoJournalParams) -> Result<(), ScenarioError> {
    if params.wait() > LONGEST {
        let [wait, longest] = [params.wait(), LONGEST].map(|time| (&Time::from(time)).into());
        let (burst, cap) = ((&params.burst).into(), (&params.cap).into());
        return Err(ScenarioError::unusable(IoJournalFact::RoundTooLong {
            burst,
            cap,
            wait,
            longest,
        }));
    }
    if params.duration.get() >= params.pause.get() * PAUSES {
        return Ok(());
    }
    let most = Time::from(params.duration.get() / PAUSES);
    Err(ScenarioError::unusable(IoJournalFact::PauseTooLong {
        pause: (&params.pause).into(),
        duration: (&params.duration).into(),
        most: (&most).into(),
    }))
}

/// Refuses a round that is not at least three whole pages of this size, in bytes. If the hole and
/// what is written again shared a page, fsync would wait for that page before it opens a handle.
fn check_pages(params: &IoJournalParams, page: u64) -> Result<(), ScenarioError> {
    let burst = params.burst.get();
    let least = LEAST_PAGES * page;
    if burst.is_multiple_of(page) && burst >= least {
        return Ok(());
    }
    let [burst, page, least] = [burst, page, least].map(|bytes| (&Size::bytes(bytes)).into());
    Err(ScenarioError::unusable(IoJournalFact::NotWholePages { burst, page, least }))
}

/// The shortest trial with this pause before each call.
pub(super) fn shortest_trial(pause: Time) -> Time {
    Time::from(pause.get() * PAUSES)
}

/// Expected duration of a trial. Its last call may wait for a round of the writer.
pub(super) fn expected(params: &IoJournalParams) -> Duration {
    let last = match params.on {
        On::Same => params.wait(),
        On::Other => Duration::ZERO,
    };
    SET_UP + params.duration.get() + last
}

/// The group below which the writer's group is made. The error is what is missing.
pub(super) fn home(host: &Host) -> Result<ParentGroup, Need> {
    ParentGroup::find_io(host.roots).map_err(|problem| match problem {
        NoIo::NoController { path } => {
            lacking(IoJournalFact::NoController { path: (&path).into() }, IoJournalFact::InAGuest)
        }
        NoIo::Occupied { path, processes } => {
            let path = (&path).into();
            lacking(IoJournalFact::Occupied { path, processes }, IoJournalFact::InAGuest)
        }
        NoIo::Group(error) => need_of(error),
    })
}

fn need_of(error: CgroupError) -> Need {
    match error {
        CgroupError::MemoryOfV1 => lacking(IoJournalFact::OfV1, IoJournalFact::InAGuest),
        CgroupError::Denied { path } | CgroupError::ReadOnly { path } => {
            lacking(IoJournalFact::NoGroup { path: (&path).into() }, IoJournalFact::BeRoot)
        }
        other => Need::MemoryLimit(other),
    }
}

fn lacking(what: IoJournalFact, grant: IoJournalFact) -> Need {
    Need::Scenario { what: what.into(), grant: grant.into() }
}

/// Converts a group error into a scenario error.
pub(super) fn refused(error: CgroupError) -> ScenarioError {
    if error.is_privilege() {
        ScenarioError::Missing(need_of(error))
    } else {
        ScenarioError::Broken(Problem::Group(error))
    }
}

/// The path of mkfs.ext4. The error is what is missing.
pub(super) fn mkfs() -> Result<PathBuf, Need> {
    match program::path_of(MKFS) {
        Ok(Some(path)) => Ok(path),
        Ok(None) => Err(lacking(IoJournalFact::NoProgram, IoJournalFact::Install)),
        Err(error) => {
            let error = (&error).into();
            Err(lacking(IoJournalFact::UnsafeProgram { error }, IoJournalFact::Install))
        }
    }
}

/// What this machine lacks for the scenario, as far as it shows without a change.
pub(super) fn missing(host: &Host) -> Option<Need> {
    let control = host.roots.resolve(Path::new(loop_device::CONTROL));
    home(host).err().or_else(|| no_loop(&control)).or_else(|| mkfs().err())
}

/// Why this process cannot make a loop device. `control` is the device that names free ones.
fn no_loop(control: &Path) -> Option<Need> {
    match access(control, Access::READ_OK | Access::WRITE_OK) {
        Ok(()) => None,
        Err(Errno::NOENT) => Some(loop_missing(control)),
        Err(error) => Some(loop_denied(&format!("{}: {error}", control.display()))),
    }
}

fn loop_missing(control: &Path) -> Need {
    let path = (&control.display()).into();
    lacking(IoJournalFact::NoLoop { path }, IoJournalFact::LoadDriver)
}

fn loop_denied(error: &str) -> Need {
    lacking(IoJournalFact::LoopDenied { error: error.into() }, IoJournalFact::BeRoot)
}

/// The arms: the writer on another file system, the writer on the victim's, and the fixes.
pub(super) fn arms(
    params: &IoJournalParams,
    host: &Host,
) -> Result<Arms<IoJournalParams>, ScenarioError> {
    check(params)?;
    check_pages(params, page_size() as u64)?;
    let home = home(host).map_err(ScenarioError::Missing)?;
    mkfs().map_err(ScenarioError::Missing)?;
    check_room(host)?;
    // First removes what an earlier, killed run left behind.
    sweep(&home);
    try_out(&home)?;
    Ok(arms_for(params))
}

fn arms_for(params: &IoJournalParams) -> Arms<IoJournalParams> {
    // It is no change if the writer of the case has a file system of its own too.
    let own = (params.on == On::Same).then_some(IoJournalFact::OwnFileSystem);
    let mut all = Arms::from(vec![
        arm("other-file-system", Role::Control, params.control(), own),
        arm("case", Role::Case, params.clone(), None),
    ]);
    for fix in params.fixes.parts() {
        let settings = params.with(*fix);
        let change = match fix {
            JournalFix::LargerCap => IoJournalFact::LargerCap { cap: (&settings.cap).into() },
            JournalFix::WrittenOnce => IoJournalFact::WrittenOnce,
        };
        // A fix that the case already has is skipped.
        if settings != *params {
            all.arms.push(arm(&fix.to_string(), Role::Fix, settings, Some(change)));
        }
    }
    all
}

fn arm(
    id: &str,
    role: Role,
    settings: IoJournalParams,
    change: Option<IoJournalFact>,
) -> Arm<IoJournalParams> {
    let change = change.map(|fact| Changed::Scenario(fact.into()));
    Arm { id: id.to_owned(), role, against: None, settings, change }
}

/// Refuses a disk that does not fit into the machine's memory.
fn check_room(host: &Host) -> Result<(), ScenarioError> {
    match os::memory::available(&host.roots.proc) {
        Some(available) if available / 2 < DISK => {
            let (needed, available) = (DISK >> 20, available >> 20);
            Err(ScenarioError::unusable(IoJournalFact::NoRoom { needed, available }))
        }
        _ => Ok(()),
    }
}

/// Makes a group and a disk, and checks that the kernel has ext4, so that a refusal comes before
/// anything is measured.
fn try_out(home: &ParentGroup) -> Result<(), ScenarioError> {
    let group = IoGroup::create(home).map_err(refused)?;
    let has_limits = group.limits().exists();
    group.remove().map_err(refused)?;
    let need = match has_limits {
        true => no_disk(),
        false => Some(lacking(IoJournalFact::NoLimits, IoJournalFact::InAGuest)),
    };
    need.map_or(Ok(()), |need| Err(ScenarioError::Missing(need)))
}

/// Why the kernel lets this process make no loop device, or mount no ext4.
fn no_disk() -> Option<Need> {
    match loop_device::check() {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Some(loop_denied(&error.to_string()));
        }
        Err(_) => return Some(loop_missing(Path::new(loop_device::CONTROL))),
    }
    // In a container, the devices may not appear in /dev.
    let tried = MemoryDisk::create(TRIED).and_then(|disk| disk.partition(2).map(drop));
    if let Err(error) = tried {
        return Some(loop_denied(&error.to_string()));
    }
    let error = memory_disk::check_kind(EXT4).err()?;
    let words = (&error).into();
    Some(match error.kind() {
        ErrorKind::PermissionDenied => {
            lacking(IoJournalFact::MayNotMount { error: words }, IoJournalFact::BeRoot)
        }
        _ => lacking(IoJournalFact::NoFileSystem { error: words }, IoJournalFact::InAGuest),
    })
}

/// The settings of the stage.
pub(super) fn spec(params: &IoJournalParams, group: &IoGroup, mkfs: PathBuf) -> StageSpec {
    StageSpec {
        mkfs,
        procs: group.path().join("cgroup.procs"),
        limits: group.limits(),
        on: params.on,
        by: params.by,
        cap: params.cap.get(),
        pages: params.burst.get() / page_size() as u64,
        pause_ns: time::whole_ns(params.pause.get()),
        duration_ms: time::whole_ms(params.duration.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::super::params::By;
    use super::*;
    use crate::testing::{refused as refusal, told as sentence};
    use host::Roots;
    use testing::{CGROUP2, Tree};

    #[test]
    fn the_control_differs_by_the_file_system_of_the_writer_alone() {
        let case = IoJournalParams::default();
        let control = case.control();
        assert_eq!(control, IoJournalParams { on: On::Other, ..case.clone() });
        // Control against control.
        assert_eq!(control.control(), control);
        let change = |params: &IoJournalParams| arms_for(params).arms.remove(0).change;
        assert!(change(&case).is_some() && change(&control).is_none());
        assert_eq!(expected(&case) - expected(&control), Duration::from_secs(1));
    }

    #[test]
    fn a_fix_that_is_there_already_or_cannot_help_is_not_tried() {
        let ids = |params: &IoJournalParams| -> Vec<String> {
            arms_for(params).arms.into_iter().map(|arm| arm.id).collect()
        };
        let usual = IoJournalParams::default();
        assert_eq!(ids(&usual), ["other-file-system", "case", "larger-cap", "written-once"]);
        let once = usual.with(JournalFix::WrittenOnce);
        assert_eq!(ids(&once), ["other-file-system", "case", "larger-cap"]);
        let ordered = IoJournalParams { by: By::Ordered, ..usual.clone() };
        assert_eq!(ids(&ordered), ["other-file-system", "case", "larger-cap"]);
        let large = usual.with(JournalFix::LargerCap);
        assert_eq!(ids(&large), ["other-file-system", "case", "written-once"]);
    }

    #[test]
    fn a_trial_has_room_for_some_calls() {
        let pause = |ms| IoJournalParams { pause: Time::ms(ms), ..IoJournalParams::default() };
        assert!(check(&pause(600)).is_ok() && check(&pause(0)).is_ok());
        let refused = refusal(&META, check(&pause(601)));
        assert!(refused.starts_with("--pause 601ms: "), "{refused}");
        assert!(refused.contains("--duration of 3s") && refused.contains("take 600ms or less"));
        assert_eq!(shortest_trial(Time::ms(601)), Time::ms(3005));
    }

    #[test]
    fn no_round_holds_others_up_for_long() {
        let with = |cap, burst| IoJournalParams { cap, burst, ..IoJournalParams::default() };
        assert!(check(&with(Size::kib(512), Size::mib(5))).is_ok());
        let refused = refusal(&META, check(&with(Size::kib(64), Size::mib(8))));
        assert!(refused.starts_with("--cap 64KiB: "), "{refused}");
        assert!(refused.contains("back for 128s") && refused.contains("10s at most"), "{refused}");
    }

    #[test]
    fn a_round_is_whole_pages_of_the_machine() {
        let with = |burst| IoJournalParams { burst, ..IoJournalParams::default() };
        let check = |burst, page| check_pages(&with(burst), page);
        assert!(check(Size::kib(68), 4 << 10).is_ok() && check(Size::mib(1), 64 << 10).is_ok());
        assert!(check(Size::kib(64), 16 << 10).is_ok() && check(Size::kib(68), 16 << 10).is_err());
        let refused = refusal(&META, check(Size::kib(128), 64 << 10));
        assert!(refused.starts_with("--burst 128KiB: ") && refused.contains("192KiB"), "{refused}");
    }

    /// What a machine of these files lacks, and what helps.
    fn lacks(files: &[(&str, &str)]) -> Option<(String, String)> {
        let tree = Tree::new(files);
        let machine = model::Machine::default();
        let otps = crate::erlang::Otps::default();
        let host = Host { roots: &Roots::at(tree.root()), machine: &machine, otps: &otps };
        match missing(&host)? {
            Need::Scenario { what, grant } => {
                Some((sentence(&META, &what), sentence(&META, &grant)))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_machine_lacks_is_named_with_what_helps() {
        let [mount, own] = CGROUP2;
        let group = |has: &'static str| {
            [
                ("sys/fs/cgroup/cgroup.controllers", has),
                ("sys/fs/cgroup/cgroup.subtree_control", has),
                ("sys/fs/cgroup/cgroup.procs", ""),
            ]
        };
        let in_a_guest = |grant: String| assert!(grant.ends_with("-- run io-journal"), "{grant}");
        let (what, grant) = lacks(&[&[mount, own][..], &group("memory\n")].concat()).unwrap();
        assert!(what.contains("no io controller"), "{what}");
        in_a_guest(grant);
        let (what, grant) = lacks(&[&[mount, own][..], &group("io memory\n")].concat()).unwrap();
        assert!(what.contains("dev/loop-control is missing"), "{what}");
        assert!(grant.contains("modprobe loop"), "{grant}");
        in_a_guest(grant);
        let of_v1 = [
            (
                "proc/self/mountinfo",
                "30 1 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("proc/self/cgroup", "9:memory:/\n"),
            ("sys/fs/cgroup/memory/cgroup.procs", ""),
        ];
        let (what, grant) = lacks(&of_v1).unwrap();
        assert!(what.contains("cgroup v1"), "{what}");
        in_a_guest(grant);
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let missing = need_of(CgroupError::Denied { path: "/sys/x".to_owned() });
        let Need::Scenario { what, grant } = missing else { panic!("{missing:?}") };
        assert!(sentence(&META, &what).contains("/sys/x"));
        assert!(sentence(&META, &grant).starts_with("run it as root"));
        let threaded = CgroupError::Threaded { path: "/sys/x".to_owned() };
        assert_eq!(need_of(threaded.clone()), Need::MemoryLimit(threaded));
    }
}
