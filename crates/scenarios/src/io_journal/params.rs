//! The parameters of `io-journal`.

use crate::params::{self, List, Size, Time, between, choice, whole_us};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Size of a block of the file system, in bytes.
pub(super) const BLOCK: u64 = 4096;

/// Least number of pages of a round: data, a hole, and the page that is written again.
pub(super) const LEAST_PAGES: u64 = 3;

/// The least cap of the fix `larger-cap`, in bytes a second.
const LARGER: Size = Size::mib(64);

/// How many rounds a second the cap of that fix lets through at least. So a round waits for 16 ms
/// at most, less than a call that is a stall.
const ROUNDS_A_SECOND: u64 = 64;

/// The parameters of `io-journal`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct IoJournalParams {
    /// How the writer writes before its fsync. rewritten: a block again whose write-back has begun,
    /// and one into a hole; once: the same without writing again; ordered: a file without extents
    #[arg(long, default_value = "rewritten")]
    pub by: By,
    /// File system of the writer. same: that of the victim, which makes the case; other: another
    /// one on the same disk, which makes the control
    #[arg(long, default_value = "same")]
    pub on: On,
    /// Bytes a second that the writer's group may write (wbps in io.max)
    #[arg(long, default_value = "1MiB", value_parser = between(Size::kib(64)..=Size::mib(1024)))]
    pub cap: Size,
    /// Bytes that the writer writes in a round, in whole blocks of 4 KiB
    #[arg(long, default_value = "1MiB", value_parser = whole_blocks)]
    pub burst: Size,
    /// Pause of the victim before each call. 0s: no pause
    #[arg(long, default_value = "10ms", value_parser = whole_us(Time::ZERO..=Time::s(1)))]
    pub pause: Time,
    /// Fixes to try, separated by semicolons: larger-cap, written-once
    #[arg(
        long,
        default_value = "larger-cap; written-once",
        default_value_if("quick", "true", "larger-cap")
    )]
    pub fixes: List<JournalFix>,
    /// How long the victim repeats its call in a trial
    #[arg(
        long,
        default_value = "3s",
        default_value_if("quick", "true", "2s"),
        value_parser = between(Time::ms(500)..=Time::s(600))
    )]
    pub duration: Time,
}

impl Default for IoJournalParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// How the writer writes before its fsync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// It writes a block again whose write-back has begun, and one into a hole
    Rewritten,
    /// It begins write-back and writes into a hole, but no block again
    Once,
    /// It writes a new file without extents, whose data has to be on the disk before a commit
    Ordered,
}

/// The file system of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// That of the victim
    Same,
    /// Another one on the same disk
    Other,
}

/// A fix to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum JournalFix {
    /// A larger cap
    LargerCap,
    /// No block is written again between the start of its write-back and fsync
    WrittenOnce,
}

choice!(By, On, JournalFix);

impl IoJournalParams {
    /// The same writer under the same cap, on another file system of the same disk.
    pub fn control(&self) -> Self {
        IoJournalParams { on: On::Other, ..self.clone() }
    }

    /// The same parameters with a fix.
    pub fn with(&self, fix: JournalFix) -> Self {
        match fix {
            JournalFix::LargerCap => IoJournalParams { cap: self.larger_cap(), ..self.clone() },
            // The commit waits for all data of a file without extents.
            JournalFix::WrittenOnce if self.by == By::Ordered => self.clone(),
            JournalFix::WrittenOnce => IoJournalParams { by: By::Once, ..self.clone() },
        }
    }

    /// A cap under which no round makes a call a stall.
    fn larger_cap(&self) -> Size {
        let of_round = Size::bytes(self.burst.get().saturating_mul(ROUNDS_A_SECOND));
        self.cap.max(LARGER).max(of_round)
    }

    /// How long the cap makes the writer wait in a round.
    pub fn wait(&self) -> Duration {
        // A cap is never zero.
        Duration::from_secs_f64(self.burst.get() as f64 / self.cap.get().max(1) as f64)
    }

    /// How long an fsync of the writer takes at least in a trial if the cap holds it back. One that
    /// has not returned at the end of the trial counts with its time so far.
    pub fn wait_in_trial(&self) -> Duration {
        self.wait().min(self.duration.get())
    }
}

/// Parses a size in whole blocks.
fn whole_blocks(text: &str) -> Result<Size, String> {
    let size = between(Size::kib(64)..=Size::mib(8))(text)?;
    match size.get().is_multiple_of(BLOCK) {
        true => Ok(size),
        false => Err("whole blocks of 4 KiB only".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_whole_blocks() {
        assert_eq!(whole_blocks("64KiB"), Ok(Size::kib(64)));
        assert!(whole_blocks("65KiB").is_err_and(|why| why.contains("whole blocks")));
        assert!(whole_blocks("4KiB").is_err() && whole_blocks("16MiB").is_err());
    }

    #[test]
    fn a_round_waits_for_what_it_writes_under_its_cap() {
        let usual = IoJournalParams::default();
        assert_eq!(usual.wait(), Duration::from_secs(1));
        let fixed = usual.with(JournalFix::LargerCap);
        assert_eq!((fixed.cap, fixed.wait()), (LARGER, Duration::from_micros(15_625)));
        let large = IoJournalParams { cap: Size::mib(100), ..usual.clone() };
        assert_eq!(large.with(JournalFix::LargerCap), large);
        for burst in [Size::kib(64), Size::mib(8)] {
            let fixed = IoJournalParams { burst, ..usual.clone() }.with(JournalFix::LargerCap);
            assert!(fixed.wait() < Duration::from_millis(50), "{fixed:?}");
        }
    }

    #[test]
    fn no_wait_in_a_trial_is_longer_than_the_trial() {
        let usual = IoJournalParams::default();
        assert_eq!(usual.wait_in_trial(), Duration::from_secs(1));
        let long = IoJournalParams { burst: Size::mib(8), ..usual };
        assert_eq!(long.wait(), Duration::from_secs(8));
        assert_eq!(long.wait_in_trial(), long.duration.get());
    }
}
