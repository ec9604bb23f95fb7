//! The columns of the two tables, and their values in a row. Column names are those of the
//! record's JSON.

use crate::table::Holds::{Double, Flag, Int, Long, Text, Time};
use crate::table::{Cell, Column, always, maybe};
use census::{TrialRow, Verdict};
use model::{Identity, Unit};

type VerdictColumn = (Column, fn(&Verdict<'_>) -> Cell);
type TrialColumn = (Column, fn(&Trial<'_>) -> Cell);

/// One row per host and scenario. The scenario and the kernel series are in the folder names.
pub(crate) const VERDICTS: [VerdictColumn; 22] = [
    (always("host", Text), |row| Cell::text(row.host)),
    (always("state", Text), |row| Cell::text(row.state.word())),
    (always("doubted", Flag), |row| Cell::Flag(row.doubted)),
    (always("started", Time), |row| time(row.started)),
    (maybe("shift", Double), |row| {
        Cell::double(row.shift.map(|(shift, _)| shift).filter(|shift| shift.is_finite()))
    }),
    (maybe("shift_unit", Text), |row| Cell::texts(row.shift.map(|(_, unit)| word(unit)))),
    (maybe("kernel", Text), |row| text(row, |identity| Some(&identity.kernel))),
    (maybe("hz", Int), |row| {
        let hz = identity(row).and_then(|identity| i32::try_from(identity.hz?).ok());
        hz.map_or(Cell::Nothing, Cell::Int)
    }),
    (maybe("preemption", Text), |row| text(row, |identity| identity.preemption.as_deref())),
    (maybe("cpus", Long), |row| long(identity(row).map(|identity| identity.cpus))),
    (maybe("cpu_model", Text), |row| text(row, |identity| identity.cpu_model.as_deref())),
    (maybe("product", Text), |row| text(row, |identity| identity.product.as_deref())),
    (maybe("virtualised", Flag), |row| flag(identity(row).and_then(|of| of.virtualised))),
    (maybe("cgroup", Text), |row| text(row, |identity| identity.cgroup.as_deref())),
    (maybe("distribution", Text), |row| text(row, |identity| identity.distribution.as_deref())),
    (maybe("arch", Text), |row| text(row, |identity| Some(&identity.arch))),
    (maybe("otp", Text), otp),
    (maybe("kind", Long), |row| long(row.kind_number)),
    (always("version", Text), |row| Cell::text(row.version)),
    (always("brief", Flag), |row| Cell::Flag(row.brief)),
    (always("file", Text), |row| Cell::text(row.file)),
    (maybe("line", Long), |row| long(row.line)),
];

/// A trial of a study.
pub(crate) struct Trial<'a> {
    pub(crate) verdict: &'a Verdict<'a>,
    pub(crate) measure: Option<&'a str>,
    /// Its position in the study.
    pub(crate) place: i32,
    pub(crate) seen: &'a TrialRow,
}

/// One row per trial.
pub(crate) const TRIALS: [TrialColumn; 21] = [
    (always("host", Text), |row| Cell::text(row.verdict.host)),
    (always("started", Time), |row| time(row.verdict.started)),
    (maybe("kernel", Text), |row| text(row.verdict, |identity| Some(&identity.kernel))),
    (maybe("otp", Text), |row| otp(row.verdict)),
    (always("trial", Int), |row| Cell::Int(row.place)),
    (always("block", Long), |row| Cell::Long(i64::from(row.seen.block))),
    (always("arm", Text), |row| Cell::text(&row.seen.arm)),
    (always("started_ms", Double), |row| Cell::Double(row.seen.started_ms)),
    (always("took_ms", Double), |row| Cell::Double(row.seen.took_ms)),
    (always("window_ms", Double), |row| Cell::Double(row.seen.window_ms)),
    (always("hang", Flag), |row| Cell::Flag(row.seen.hang)),
    (maybe("measure", Text), |row| Cell::texts(row.measure)),
    (maybe("value", Double), |row| Cell::double(row.seen.value.map(|value| value.value))),
    (maybe("unit", Text), |row| Cell::texts(row.seen.value.map(|value| word(value.unit)))),
    (maybe("at_least", Flag), |row| flag(row.seen.value.map(|value| value.at_least))),
    (maybe("steal_ms", Double), |row| Cell::double(row.seen.steal_ms)),
    (maybe("run_delay_ms", Double), |row| Cell::double(row.seen.run_delay_ms)),
    (maybe("enclosing_throttled_ms", Double), |row| Cell::double(row.seen.enclosing_throttled_ms)),
    (maybe("cpu_pressure_ms", Double), |row| Cell::double(row.seen.cpu_pressure_ms)),
    (maybe("memory_pressure_ms", Double), |row| Cell::double(row.seen.memory_pressure_ms)),
    (maybe("io_pressure_ms", Double), |row| Cell::double(row.seen.io_pressure_ms)),
];

fn identity<'a>(verdict: &Verdict<'a>) -> Option<&'a Identity> {
    verdict.kind.map(|kind| &kind.identity)
}

fn text(verdict: &Verdict<'_>, of: fn(&Identity) -> Option<&str>) -> Cell {
    Cell::texts(identity(verdict).and_then(of))
}

fn otp(verdict: &Verdict<'_>) -> Cell {
    Cell::texts(verdict.kind.and_then(|kind| kind.otp.as_deref()))
}

fn long(number: Option<u32>) -> Cell {
    number.map_or(Cell::Nothing, |number| Cell::Long(i64::from(number)))
}

fn flag(is_so: Option<bool>) -> Cell {
    is_so.map_or(Cell::Nothing, Cell::Flag)
}

/// A time as milliseconds since 1970.
fn time(seconds: i64) -> Cell {
    Cell::Long(seconds.saturating_mul(1000))
}

/// A unit as it is written in a record.
fn word(unit: Unit) -> &'static str {
    match unit {
        Unit::Milliseconds => "ms",
        Unit::Nanoseconds => "ns",
        Unit::MillisecondsPerSecond => "ms/s",
        Unit::Count => "1",
        Unit::PerSecond => "1/s",
        Unit::Bytes => "B",
        Unit::Percent => "%",
        Unit::Ratio => "ratio",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_words_of_a_record() {
        let all = [
            Unit::Milliseconds,
            Unit::Nanoseconds,
            Unit::MillisecondsPerSecond,
            Unit::Count,
            Unit::PerSecond,
            Unit::Bytes,
            Unit::Percent,
            Unit::Ratio,
        ];
        for unit in all {
            assert_eq!(serde_json::to_value(unit).unwrap(), word(unit));
        }
    }
}
