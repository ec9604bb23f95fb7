//! Finds the record of an undecided study that a run can continue.

use crate::claim::{self, Claim, Held};
use crate::{output, paths};
use model::record::Plan;
use model::{Facts, Machine, Settings, Value};
use rustix::fs::{Mode, OFlags, openat};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Older studies are ignored, since the machine has probably changed.
const OLDEST: Duration = Duration::from_secs(24 * 3600);

/// Larger records are ignored.
const MOST_BYTES: u64 = 64 << 20;

/// Most records that are searched.
const MOST_RECORDS: usize = 20;

/// An undecided study that can be continued.
pub struct Undecided {
    /// The file of its record.
    pub path: PathBuf,
    /// The rest of its plan.
    pub plan: Plan,
    /// The facts so far.
    pub facts: Facts,
    /// The lock against other runs. None if the file was requested, because the caller then holds
    /// the lock.
    pub held: Option<Held>,
}

/// Finds the undecided study of this exact plan. If a file is requested, which the caller has
/// claimed, only that file is searched. Otherwise the newest match counts, among the last records
/// of the scenario in the state folder.
///
/// Returns None if another run is continuing it. Two runs that continue one record would count
/// the same blocks twice, or lose each other's blocks.
pub fn find(
    asked: Option<&PathBuf>,
    scenario: &str,
    plan: &Plan,
    machine: &Machine,
) -> Option<Undecided> {
    let begun = |path: &Path| {
        let old = own(path).filter(|record| record.scenario == scenario)?;
        runner::undecided(old, plan, machine)
    };
    match asked {
        Some(path) => found(path.clone(), None, begun),
        None => {
            // Nothing is taken from a folder that another user could change, unless the user has
            // named it.
            paths::make_state_folder().ok()?;
            first(newest(&paths::state_folder(), scenario), &claim::locks(), begun)
        }
    }
}

/// The first record of an undecided study; None if another run holds it.
fn first(
    records: Vec<PathBuf>,
    locks: &Path,
    begun: impl Fn(&Path) -> Option<(Plan, Facts)>,
) -> Option<Undecided> {
    let path = records.into_iter().find(|path| begun(path).is_some())?;
    let held = claimed(locks, &path)?;
    // Another run may have continued and ended it since the first look.
    found(path, Some(held), begun)
}

fn found(
    path: PathBuf,
    held: Option<Held>,
    begun: impl Fn(&Path) -> Option<(Plan, Facts)>,
) -> Option<Undecided> {
    let (mut plan, facts) = begun(&path)?;
    take_from_others(&mut plan);
    Some(Undecided { path, plan, facts, held })
}

/// Gives a new arm of a study the calibrated values of the other arms, such as the request rate.
/// All arms have the same load.
fn take_from_others(plan: &mut Plan) {
    let tried: Vec<Settings> = plan.arms.iter().map(|arm| arm.settings.clone()).collect();
    let open = plan.arms.iter_mut().flat_map(|arm| arm.settings.0.iter_mut());
    for (name, value) in open.filter(|(_, value)| value.is_open()) {
        let numbers = tried.iter().filter_map(|settings| settings.0.get(name));
        if let Some(number) = numbers.into_iter().find(|value| matches!(value, Value::Number(_))) {
            *value = number.clone();
        }
    }
}

/// Claims an undecided record. If that fails, prints why the study begins anew.
fn claimed(locks: &Path, path: &Path) -> Option<Held> {
    let why = match claim::take_in(locks, path) {
        Claim::HeldByUs(held) => return Some(held),
        Claim::HeldByOther(holder) => format!("{} continues", claim::process(holder)),
        Claim::NoLocks => "cannot lock".to_owned(),
    };
    output::note(&format!(
        "{why} the undecided study in {}, so this run starts a new study",
        path.display()
    ));
    None
}

/// The record in a file that only this user can write, and that is recent and small enough. A
/// record that another user could have written is no evidence.
fn own(path: &Path) -> Option<Facts> {
    // The checks are of the open file. Another user may exchange it if the folder is theirs.
    let file = opened(path).ok()?;
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let age = SystemTime::now().duration_since(metadata.modified().ok()?).unwrap_or_default();
    let mine =
        metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0;
    if metadata.len() > MOST_BYTES || age > OLDEST || !mine {
        return None;
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Facts::from_json(&text).ok()
}

/// Opens a file, without waiting for a writer of a pipe, and not through a link.
fn opened(path: &Path) -> std::io::Result<File> {
    let folder = os::folders::hold(&paths::folder_of(path))?;
    let name = path.file_name().unwrap_or_default();
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// The last records of a scenario, newest first. Their names begin with the scenario and the
/// time.
fn newest(folder: &Path, scenario: &str) -> Vec<PathBuf> {
    let is_of_scenario = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&format!("{scenario}-2")) && name.ends_with(".json")
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(is_of_scenario).collect();
    found.sort_by(|a, b| b.cmp(a));
    found.truncate(MOST_RECORDS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_records_of_a_scenario_are_the_last_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "mmap-lock-20261121T1.json",
            "mmap-lock-20261122T1.json",
            "mmap-lock-20261123T1.html",
            "cpu-quota-20261129T1.json",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = newest(folder.path(), "mmap-lock");
        assert_eq!(found.len(), 2);
        assert!(found[0].ends_with("mmap-lock-20261122T1.json"));
        assert_eq!(newest(folder.path(), "busy-wait"), Vec::<PathBuf>::new());
    }

    #[test]
    fn an_arm_that_is_new_takes_what_the_others_were_tried_out_with() {
        let mut plan = crate::testing::affected_record().plan.clone();
        let rate = |value: Value| Settings([("rate".to_owned(), value)].into());
        let open: Value = serde_json::from_value("auto".into()).unwrap();
        assert!(open.is_open());
        plan.arms.truncate(2);
        plan.arms[0].settings = rate(Value::Number(400));
        plan.arms[1].settings = rate(open.clone());
        take_from_others(&mut plan);
        assert_eq!(plan.arms[1].settings, rate(Value::Number(400)));
        plan.arms.iter_mut().for_each(|arm| arm.settings = rate(open.clone()));
        take_from_others(&mut plan);
        assert_eq!(plan.arms[1].settings, rate(open));
    }

    #[test]
    fn what_another_run_goes_on_with_is_left_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let (locks, path) = (folder.path().join("locks"), folder.path().join("a.json"));
        let text = crate::testing::affected_record().to_json();
        std::fs::write(&path, text).unwrap();
        let begun = |path: &Path| {
            let record = own(path)?;
            Some((record.plan.clone(), record))
        };
        let find = || first(vec![path.clone()], &locks, begun);
        let ours = find().unwrap();
        assert_eq!(ours.path, path);
        assert!(find().is_none(), "both would go on with the same blocks");
        drop(ours);
        assert!(find().is_some());
        // Another run may continue the study and end it between the look and the lock.
        let looks = std::cell::Cell::new(0);
        let gone = |path: &Path| {
            looks.set(looks.get() + 1);
            begun(path).filter(|_| looks.get() == 1)
        };
        assert!(first(vec![path.clone()], &locks, gone).is_none());
        assert!(find().is_some(), "a lock that was of no use is let go");
    }

    #[test]
    fn a_record_that_others_may_write_is_not_taken() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, crate::testing::affected_record().to_json()).unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        assert!(own(&path).is_some());
        mode(0o666);
        assert!(own(&path).is_none());
        mode(0o644);
        let link = folder.path().join("b.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(own(&link).is_none());
    }

    #[test]
    fn a_record_that_is_exchanged_meanwhile_is_not_taken() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use std::sync::atomic::{AtomicBool, Ordering};
        if !testing::root_or_skip() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["a.json", "b.json"].map(|name| folder.path().join(name));
        let mut record = crate::testing::affected_record();
        std::fs::write(&path, record.to_json()).unwrap();
        let ours = record.plan.seed;
        record.plan.seed = ours + 1;
        std::fs::write(&other, record.to_json()).unwrap();
        std::os::unix::fs::chown(&other, Some(65_534), None).unwrap();
        let ends = AtomicBool::new(false);
        let seeds: Vec<u64> = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    renameat_with(CWD, &path, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let tries = (0..10_000).filter_map(|_| own(&path));
            let seeds = tries.take(100).map(|record| record.plan.seed).collect();
            ends.store(true, Ordering::Relaxed);
            seeds
        });
        assert!(!seeds.is_empty() && seeds.iter().all(|seed| *seed == ours), "{seeds:?}");
    }
}
