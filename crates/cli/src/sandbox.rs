//! What a command that only reads records may do: read, and write its output.
//!
//! A record may be anybody's, and root reads it like everybody else. So before anything of it is
//! read, the kernel is told (Landlock, Linux 5.13; a kernel without it restricts nothing) that this
//! process writes only where its output goes and where the index of the history is, and executes
//! nothing, reaches no network and signals nobody. Root keeps only the privilege to read and write
//! files of others, which Landlock bounds: a record may be in the folder of any user.

use clap::ArgMatches;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use std::path::{Path, PathBuf};

/// Rights of the newest version of Landlock that is asked for; an older kernel takes what it knows.
const NEWEST: ABI = ABI::V6;

/// Flags that name a file that is written.
const OUTPUTS: [&str; 4] = ["output", "perfetto", "page", "parquet"];

/// Commands that read records and run nothing.
const READERS: [&str; 7] = ["judge", "explain", "report", "compare", "history", "export", "census"];

/// Restricts this process where its command only reads; for good, and for whatever it starts.
pub fn enter(matches: &ArgMatches) {
    let Some((name, inner)) = matches.subcommand() else { return };
    if READERS.contains(&name) {
        // Without them the command does the same; they are a second wall behind the checks.
        let _ = keep_files_alone();
        let _ = restrict(&writable(inner));
    }
}

/// Takes every privilege from the calling thread but that over files.
fn keep_files_alone() -> rustix::io::Result<()> {
    let own = capabilities(None)?;
    let kept = own.permitted & (CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })
}

/// The folders that the command writes to.
fn writable(matches: &ArgMatches) -> Vec<PathBuf> {
    let named = OUTPUTS.iter().filter_map(|flag| {
        let path = matches.try_get_one::<PathBuf>(flag).ok()??;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Some(folder.unwrap_or(Path::new(".")).to_owned())
    });
    named.chain(os::folders::cache()).collect()
}

/// Whether the kernel restricts the calling thread from here on.
fn restrict(writable: &[PathBuf]) -> Result<bool, RulesetError> {
    let read = AccessFs::from_read(NEWEST) & !AccessFs::Execute;
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(["/"], read))?
        .add_rules(path_beneath_rules(writable, AccessFs::from_all(NEWEST) & !AccessFs::Execute))?;
    Ok(rules.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_keeps_no_privilege_but_that_over_files() {
        let before = capabilities(None).unwrap().effective;
        // The thread alone loses them, and ends.
        let after = std::thread::spawn(|| {
            keep_files_alone().unwrap();
            capabilities(None).unwrap()
        });
        let after = after.join().unwrap();
        let files = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        assert_eq!(after.effective, before & files);
        assert_eq!((after.permitted, after.inheritable.is_empty()), (after.effective, true));
    }

    #[test]
    fn a_reader_writes_where_its_output_goes_and_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        let (own, other) = (place.path().join("own"), place.path().join("other"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join("record"), "read me").unwrap();
        // The thread alone is restricted, and ends.
        let tried = std::thread::spawn(move || {
            if !restrict(std::slice::from_ref(&own)).unwrap() {
                testing::skipped("this kernel has no Landlock");
                return None;
            }
            let read = std::fs::read_to_string(other.join("record")).is_ok();
            let (here, there) =
                (std::fs::write(own.join("a"), ""), std::fs::write(other.join("a"), ""));
            let run = std::process::Command::new("/bin/true").status();
            Some((read, here.is_ok(), there.is_ok(), run.is_ok()))
        });
        if let Some(tried) = tried.join().unwrap() {
            assert_eq!(tried, (true, true, false, false));
        }
    }
}
