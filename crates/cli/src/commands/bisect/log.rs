//! The log file of a bisection. It holds all results so far, so a stopped bisection can continue.

use crate::exit::Failure;
use crate::paths;
use bisect::Boot;
use rustix::fs::{FlockOperation, Mode, OFlags, openat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Schema of the lines.
const SCHEMA: &str = "tailback/bisect/1";

/// Size limit of a log that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// The question of a bisection. Each question has its own log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub(super) schema: String,
    /// The scenario.
    pub scenario: String,
    /// The words of `run` after the scenario, without the seed.
    pub words: Vec<String>,
    /// The good end.
    pub good: String,
    /// The bad end.
    pub bad: String,
    /// The versions of a list, with the checksums of their images; empty for a tree.
    pub versions: Vec<String>,
    /// The tree, and the command and kernel of the build.
    pub tree: Option<(PathBuf, String)>,
    /// Whether the size of the effect is compared with a threshold.
    pub by_effect: bool,
    /// The resources of each guest.
    pub machine: String,
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Asked(Asked),
    /// The branch or commit that was checked out before the bisection.
    Was(String),
    /// The middle of the effects of both ends.
    Threshold(f64),
    Booted {
        version: String,
        number: u32,
        came: Boot,
    },
    /// That branch or commit is checked out again.
    Restored,
    /// The bisection is complete. The next one with the same question starts again.
    Ended,
}

/// The log.
pub struct Log {
    /// The path of the log.
    pub path: PathBuf,
    file: File,
    booted: BTreeMap<(String, u32), Boot>,
    threshold: Option<f64>,
    was: Option<String>,
}

impl Asked {
    /// The question for these words and ends.
    pub fn new(scenario: &str, words: Vec<String>, good: &str, bad: &str) -> Self {
        Asked {
            schema: format!("{SCHEMA} of tailback {}", env!("CARGO_PKG_VERSION")),
            scenario: scenario.to_owned(),
            words,
            good: good.to_owned(),
            bad: bad.to_owned(),
            versions: Vec::new(),
            tree: None,
            by_effect: false,
            machine: String::new(),
        }
    }

    /// The question about the kernels of a list. Images are part of the question, since a path may
    /// lead to another image later. Of a kernel of Debian, only the name counts. `checksum` returns
    /// the SHA-256 of an image, or None if it cannot be booted, which is an error only when the
    /// bisection boots it.
    ///
    /// # Errors
    /// Those of `checksum`.
    pub fn with_versions(
        self,
        names: &[String],
        checksum: &dyn Fn(&str) -> Result<Option<String>, Failure>,
    ) -> Result<Self, Failure> {
        let version = |name: &String| -> Result<String, Failure> {
            let sum = if name.starts_with("debian:") { None } else { checksum(name)? };
            Ok(sum.map_or_else(|| name.clone(), |sum| format!("{name} {sum}")))
        };
        let versions = names.iter().map(version).collect::<Result<Vec<String>, Failure>>()?;
        Ok(Asked { versions, ..self })
    }

    /// The name of the log file of this question.
    fn file_name(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        let digest = Sha256::digest(text);
        let short = hex::encode(&digest[..6]);
        format!("bisect-{}-{short}.jsonl", self.scenario)
    }
}

impl Log {
    /// Opens the log of this question, or begins one. `fresh` discards the old content.
    ///
    /// # Errors
    /// If it cannot be read or written, belongs to another question, or is in use.
    pub fn open(asked: &Asked, named: Option<&Path>, fresh: bool) -> Result<Self, Failure> {
        let usual = || paths::state_folder().join(asked.file_name());
        let path = named.map_or_else(usual, Path::to_owned);
        let wrong = |why: &dyn std::fmt::Display| {
            let line = format!("--log {}: {why}; name another file", path.display());
            Failure::usage(line)
        };
        if named.is_none() {
            paths::make_state_folder().map_err(|error| wrong(&error))?;
        }
        // Opened once: another user may own the folder and exchange the file.
        let file = opened(&path).map_err(|error| wrong(&error))?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| wrong(&"another bisection is using it"))?;
        let (lines, length) = read(&file).map_err(|why| wrong(&why))?;
        if !matches!(lines.first(), None | Some(Line::Asked(_))) {
            return Err(wrong(&"it is not a log of a bisection"));
        }
        if matches!(lines.first(), Some(Line::Asked(other)) if other != asked) {
            return Err(wrong(&"it is the log of another bisection"));
        }
        // An incomplete last line is cut off. The log of a bisection that ended is emptied.
        let ended = fresh || lines.contains(&Line::Ended);
        file.set_len(if ended { 0 } else { length }).map_err(|error| wrong(&error))?;
        let is_empty = ended || lines.is_empty();
        let mut log =
            Log { path: path.clone(), file, booted: BTreeMap::new(), threshold: None, was: None };
        lines.into_iter().for_each(|line| log.apply(line));
        if is_empty {
            log.begin(asked)?;
        }
        Ok(log)
    }

    /// Begins an empty log. What was checked out before a bisection that was killed stays known:
    /// the tree is still at the commit where it was left.
    fn begin(&mut self, asked: &Asked) -> Result<(), Failure> {
        self.booted.clear();
        self.threshold = None;
        self.add(&Line::Asked(asked.clone()))?;
        match self.was.take() {
            Some(was) => self.add_was(&was),
            None => Ok(()),
        }
    }

    fn apply(&mut self, line: Line) {
        match line {
            Line::Asked(_) | Line::Ended => {}
            Line::Was(head) => self.was = Some(head),
            Line::Restored => self.was = None,
            Line::Threshold(size) => self.threshold = Some(size),
            Line::Booted { version, number, came } => {
                self.booted.insert((version, number), came);
            }
        }
    }

    /// The result of this boot of a version, if the log has it.
    pub fn booted(&self, version: &str, number: u32) -> Option<&Boot> {
        self.booted.get(&(version.to_owned(), number))
    }

    /// Number of boots in the log.
    pub fn boots(&self) -> usize {
        self.booted.len()
    }

    /// Number of guests whose results are in the log: one for each boot and, if the threshold is
    /// known, one for each end. Later guests need other seeds.
    pub fn guests(&self) -> u32 {
        let of_ends = if self.threshold.is_some() { 2 } else { 0 };
        self.boots() as u32 + of_ends
    }

    /// The middle of the effects of both ends, if known.
    pub fn threshold(&self) -> Option<f64> {
        self.threshold
    }

    /// The branch or commit that was checked out before a bisection that was killed.
    pub fn was(&self) -> Option<&str> {
        self.was.as_deref()
    }

    /// Logs the result of a boot.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_boot(&mut self, version: &str, number: u32, came: &Boot) -> Result<(), Failure> {
        self.keep(Line::Booted { version: version.to_owned(), number, came: came.clone() })
    }

    /// Logs the middle of the effects of both ends.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_threshold(&mut self, size: f64) -> Result<(), Failure> {
        self.keep(Line::Threshold(size))
    }

    /// Logs the branch or commit that is checked out.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_was(&mut self, head: &str) -> Result<(), Failure> {
        self.keep(Line::Was(head.to_owned()))
    }

    /// Logs that this branch or commit is checked out again.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add_restored(&mut self) -> Result<(), Failure> {
        self.keep(Line::Restored)
    }

    /// Logs that the bisection is complete.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(&mut self) -> Result<(), Failure> {
        self.add(&Line::Ended)
    }

    fn keep(&mut self, line: Line) -> Result<(), Failure> {
        self.add(&line)?;
        self.apply(line);
        Ok(())
    }

    fn add(&mut self, line: &Line) -> Result<(), Failure> {
        let text = serde_json::to_string(line).unwrap_or_default() + "\n";
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| Failure::need(format!("log {}: {error}", self.path.display())))
    }
}

/// Opens a log, and makes it if necessary. Only a regular file of the caller is opened, and not
/// through a link: its results count as measured, and the branch that it names is checked out.
fn opened(path: &Path) -> std::io::Result<File> {
    let folder = os::folders::hold(&paths::folder_of(path))?;
    let name = path.file_name().unwrap_or_default();
    let new = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
    let safe = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(openat(folder, name, new | safe, Mode::RUSR | Mode::WUSR)?);
    let found = file.metadata()?;
    let (owner, caller) = (found.uid(), rustix::process::geteuid().as_raw());
    match (found.is_file(), owner == caller) {
        (false, _) => Err(std::io::Error::other("not a regular file")),
        (true, false) => Err(std::io::Error::other(format!("it belongs to user {owner}"))),
        (true, true) => Ok(file),
    }
}

/// The lines of a log, and their length in bytes. An incomplete last line is left out.
fn read(file: &File) -> Result<(Vec<Line>, u64), String> {
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let text = String::from_utf8_lossy(&bytes[..end]);
    let lines: Result<Vec<Line>, _> = text.lines().map(serde_json::from_str).collect();
    let none = bytes.len() > end && end == 0 && !bytes.starts_with(b"{\"asked\"");
    match lines {
        Ok(lines) if !none => Ok((lines, end as u64)),
        _ => Err("it is not a log of a bisection".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        Asked::new("mmap-lock", vec!["--quick".to_owned()], "a", "b")
    }

    /// Opens a log that this test has closed. A child process of another test also holds its lock
    /// between fork and exec, so this may need several tries.
    fn unused(open: impl Fn() -> Result<Log, Failure>) -> Result<Log, Failure> {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(100);
        loop {
            match open() {
                Err(failure) if failure.line.contains("is using it") => {
                    assert!(std::time::Instant::now() < until, "{failure:?}");
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                opened => return opened,
            }
        }
    }

    fn reopened(path: &Path) -> Result<Log, Failure> {
        unused(|| Log::open(&asked(), Some(path), false))
    }

    #[test]
    fn a_log_goes_on_where_it_was_stopped_and_belongs_to_one_question() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = Log::open(&asked(), Some(&path), false).unwrap();
        log.add_was("main").unwrap();
        log.add_boot("a", 1, &Boot::Good).unwrap();
        assert_eq!(log.guests(), 1);
        log.add_threshold(50.0).unwrap();
        drop(log);
        // An incomplete line, as a killed program leaves it.
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"booted\":{\"vers").unwrap();
        let mut log = reopened(&path).unwrap();
        assert_eq!(log.booted("a", 1), Some(&Boot::Good));
        assert_eq!((log.booted("a", 2), log.boots()), (None, 1));
        assert_eq!(log.guests(), 3, "the threshold took a guest for each end");
        assert_eq!((log.threshold(), log.was()), (Some(50.0), Some("main")));
        log.add_boot("a", 2, &Boot::Bad).unwrap();
        let used = Log::open(&asked(), Some(&path), false).err().unwrap();
        assert!(used.line.contains("is using it"), "{used:?}");
        log.add_restored().unwrap();
        drop(log);
        let log = reopened(&path).unwrap();
        assert_eq!((log.booted("a", 2), log.boots()), (Some(&Boot::Bad), 2));
        assert_eq!(log.was(), None);
        drop(log);
        let other = Asked { good: "c".to_owned(), ..asked() };
        assert_ne!(other.file_name(), asked().file_name());
        let failure = unused(|| Log::open(&other, Some(&path), false)).err().unwrap();
        assert!(failure.line.contains("another bisection"), "{failure:?}");
        let mut log = reopened(&path).unwrap();
        log.end().unwrap();
        drop(log);
        let mut log = reopened(&path).unwrap();
        assert_eq!((log.boots(), log.was()), (0, None), "it is asked afresh");
        // A bisection that is killed leaves the tree at a commit, however the next one begins.
        log.add_was("main").unwrap();
        log.add_boot("a", 1, &Boot::Good).unwrap();
        log.add_threshold(5.0).unwrap();
        drop(log);
        for _ in 0..2 {
            let log = unused(|| Log::open(&asked(), Some(&path), true)).unwrap();
            assert_eq!((log.boots(), log.threshold(), log.was()), (0, None, Some("main")));
        }
        for other in ["hello\n", "hello"] {
            std::fs::write(&path, other).unwrap();
            assert!(reopened(&path).err().unwrap().line.contains("not a log"));
        }
    }

    #[test]
    fn another_image_with_the_same_name_has_its_own_log() {
        let names = ["debian:6.12", "./linux", "./gone"].map(str::to_owned);
        let of = |sum: &str| {
            let checksum = |name: &str| match name {
                "./linux" => Ok(Some(sum.to_owned())),
                "./gone" => Ok(None),
                other => Err(Failure::broken(format!("{other} is not fetched"))),
            };
            asked().with_versions(&names, &checksum).unwrap()
        };
        assert_eq!(of("a").versions, ["debian:6.12", "./linux a", "./gone"]);
        assert_eq!(of("a").file_name(), of("a").file_name());
        assert_ne!(of("a").file_name(), of("b").file_name());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = Log::open(&of("a"), Some(&path), false).unwrap();
        log.add_boot("./linux", 1, &Boot::Good).unwrap();
        drop(log);
        assert_eq!(unused(|| Log::open(&of("a"), Some(&path), false)).unwrap().boots(), 1);
        let failure = unused(|| Log::open(&of("b"), Some(&path), false)).err().unwrap();
        assert!(failure.line.contains("another bisection"), "{failure:?}");
        let interrupted = |_: &str| Err(Failure::broken("interrupted"));
        assert!(asked().with_versions(&names, &interrupted).is_err());
    }

    #[test]
    fn the_log_of_another_user_counts_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        drop(Log::open(&asked(), Some(&path), false).unwrap());
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_err() {
            return testing::skipped("only root can give a file away");
        }
        let written = std::fs::read(&path).unwrap();
        let failure = reopened(&path).err().unwrap();
        assert!(failure.line.contains("it belongs to user 65534; name another"), "{failure:?}");
        assert_eq!(std::fs::read(&path).unwrap(), written);
    }

    #[test]
    fn a_file_that_is_put_in_the_logs_place_stays_as_it_is() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use std::sync::atomic::{AtomicBool, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["log", "other"].map(|name| folder.path().join(name));
        drop(Log::open(&asked(), Some(&path), false).unwrap());
        let letter = "keep me\n".repeat(1000);
        std::fs::write(&other, &letter).unwrap();
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    renameat_with(CWD, &path, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                }
            });
            (0..1000).for_each(|_| drop(Log::open(&asked(), Some(&path), false)));
            ends.store(true, Ordering::Relaxed);
        });
        let texts = [path, other].map(|path| std::fs::read_to_string(path).unwrap());
        assert!(texts.contains(&letter), "it was cut off");
    }
}
