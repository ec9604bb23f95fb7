//! Values for the parameters of any scenario: durations, sizes, numbers, CPUs, files.

use super::text::{as_text, is_strange};
use model::units;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// A duration, written with its unit: `250ms`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(Duration);

impl Time {
    /// A time of zero.
    pub const ZERO: Time = Time(Duration::ZERO);

    /// A time of `count` microseconds.
    pub const fn us(count: u64) -> Self {
        Time(Duration::from_micros(count))
    }

    /// A time of `count` milliseconds.
    pub const fn ms(count: u64) -> Self {
        Time(Duration::from_millis(count))
    }

    /// A time of `count` seconds.
    pub const fn s(count: u64) -> Self {
        Time(Duration::from_secs(count))
    }

    /// The time as a duration.
    pub const fn get(self) -> Duration {
        self.0
    }

    /// Whether the time is zero.
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl From<Duration> for Time {
    fn from(duration: Duration) -> Self {
        Time(duration)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&units::format_duration(self.0))
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        units::parse_duration(text.trim()).map(Time)
    }
}

/// A size in bytes, written with its unit: `128MiB`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

impl Size {
    /// A size of `count` bytes.
    pub const fn bytes(count: u64) -> Self {
        Size(count)
    }

    /// A size of `count` KiB.
    pub const fn kib(count: u64) -> Self {
        Size(count << 10)
    }

    /// A size of `count` MiB.
    pub const fn mib(count: u64) -> Self {
        Size(count << 20)
    }

    /// A size of `count` TiB.
    pub const fn tib(count: u64) -> Self {
        Size(count << 40)
    }

    /// The size in bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&units::format_size(self.0))
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        units::parse_size(text.trim()).map(Size)
    }
}

/// A CPU quota: CPU time in each period, `10ms/100ms`. A burst may follow a plus sign:
/// `10ms/100ms+10ms`. It is the unused time that may be carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    quota: Time,
    period: Time,
    burst: Time,
}

impl Quota {
    /// CPU time in each period.
    pub const fn quota(self) -> Time {
        self.quota
    }

    /// Length of a period.
    pub const fn period(self) -> Time {
        self.period
    }

    /// Unused time that may be carried over.
    pub const fn burst(self) -> Time {
        self.burst
    }

    /// The same quota with a burst of the whole quota, the largest burst that a kernel accepts.
    pub const fn with_burst(self) -> Self {
        Quota { burst: self.quota, ..self }
    }
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quota { quota, period, burst } = self;
        write!(f, "{quota}/{period}")?;
        if burst.is_zero() { Ok(()) } else { write!(f, "+{burst}") }
    }
}

impl FromStr for Quota {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is not a quota and its period, as in 10ms/100ms");
        let (quota, rest) = text.split_once('/').ok_or_else(form)?;
        let (period, burst) = rest.split_once('+').unwrap_or((rest, "0s"));
        let time = |text: &str| -> Result<Time, String> { text.parse() };
        let read = Quota { quota: time(quota)?, period: time(period)?, burst: time(burst)? };
        let whole = |time: Time| time.get().subsec_nanos().is_multiple_of(1_000);
        let Quota { quota, period, burst } = read;
        if ![quota, period, burst].into_iter().all(whole) {
            return Err("whole microseconds only".to_owned());
        }
        if quota < Time::ms(1) || quota > Time::s(3600) {
            return Err(format!("a quota of {quota} is not between 1ms and 1h"));
        }
        if period < Time::ms(1) || period > Time::s(1) {
            return Err(format!("a period of {period} is not between 1ms and 1s"));
        }
        match burst > quota {
            true => Err(format!("a burst of {burst} is more than the quota of {quota}")),
            false => Ok(read),
        }
    }
}

/// A number with up to three decimals: `0.5`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal {
    thousandths: u32,
}

impl Decimal {
    /// A number of thousandths.
    pub const fn thousandths(thousandths: u32) -> Self {
        Decimal { thousandths }
    }

    /// The number as a float.
    pub fn get(self) -> f64 {
        f64::from(self.thousandths) / 1e3
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

impl FromStr for Decimal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || format!("`{text}` is not a number");
        let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
        let number: f64 = text.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
        let thousandths = (number * 1e3).round();
        if thousandths > f64::from(u32::MAX) {
            return Err(format!("{number} is too large"));
        }
        // The number is between zero and the largest `u32`.
        Ok(Decimal { thousandths: thousandths as u32 })
    }
}

/// The number of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cpu(u32);

impl Cpu {
    /// The largest CPU number that is accepted. No machine has more CPUs.
    const MOST: u32 = 1 << 20;

    /// The CPU with this number.
    pub const fn new(number: u32) -> Self {
        Cpu(number)
    }

    /// The number of the CPU.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Cpu {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().parse().ok().filter(|number| *number <= Cpu::MOST);
        number.map(Cpu).ok_or_else(|| format!("`{text}` is not the number of a CPU"))
    }
}

/// Whole numbers, separated by commas. Each number makes an arm, and an arm has a single number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Counts(Vec<u32>);

/// The form in a record: one number, or several.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    One(u32),
    Several(Vec<u32>),
}

impl From<Written> for Counts {
    fn from(written: Written) -> Self {
        match written {
            Written::One(one) => Counts(vec![one]),
            Written::Several(several) => Counts(several),
        }
    }
}

impl From<Counts> for Written {
    fn from(counts: Counts) -> Self {
        match counts.0.as_slice() {
            [one] => Written::One(*one),
            _ => Written::Several(counts.0),
        }
    }
}

impl Counts {
    /// A list of these numbers.
    pub fn new(counts: Vec<u32>) -> Self {
        Counts(counts)
    }

    /// A list with a single number.
    pub fn one(count: u32) -> Self {
        Counts(vec![count])
    }

    /// All numbers.
    pub fn all(&self) -> &[u32] {
        &self.0
    }

    /// The only number. None if there are several or none.
    pub fn single(&self) -> Option<u32> {
        match self.0.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// The largest number.
    pub fn most(&self) -> u32 {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&words.join(","))
    }
}

/// The name of a file in `/proc/PID`, or a path below it such as `net/dev`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcFile(String);

impl ProcFile {
    /// Entries of /proc/PID that lead to files outside it.
    const LEADS_AWAY: [&str; 7] = ["fd", "root", "cwd", "exe", "task", "map_files", "ns"];

    /// The name of the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProcFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProcFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let first = text.split('/').next().unwrap_or_default();
        if ProcFile::LEADS_AWAY.contains(&first) {
            return Err(format!("`{text}` leads away from the process's own files"));
        }
        let is_plain = |part: &str| {
            !part.is_empty()
                && part != "."
                && part != ".."
                && part.len() <= 64
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        };
        match text.split('/').all(is_plain) && text.split('/').count() <= 4 {
            true => Ok(ProcFile(text.to_owned())),
            false => Err(format!(
                "`{text}` is not the name of a file in /proc/PID, such as smaps or maps"
            )),
        }
    }
}

/// The path of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.display())
    }
}

impl FromStr for Folder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        match text.is_empty() || is_strange(text) {
            false => Ok(Folder(PathBuf::from(text))),
            true => Err(format!("`{text}` is not the path of a folder")),
        }
    }
}

as_text!(Time, Size, Quota, Decimal, ProcFile, Folder);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_written_as_it_is_read() {
        for text in ["10ms/100ms", "1500us/100ms", "10ms/100ms+10ms"] {
            let quota: Quota = text.parse().unwrap();
            assert_eq!(quota.to_string().parse::<Quota>().unwrap(), quota, "{text}");
        }
        let quota: Quota = "10ms/100ms".parse().unwrap();
        assert_eq!(quota.with_burst().to_string(), "10ms/100ms+10ms");
        for wrong in
            ["", "10ms", "10ms/", "10/100", "1us/100ms", "10ms/2s", "10ms/100ms+11ms", "10ms/1h+1"]
        {
            assert!(wrong.parse::<Quota>().is_err(), "{wrong}");
        }
    }
}
