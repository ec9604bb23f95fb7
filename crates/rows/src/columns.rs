//! The columns of the two tables, and their values in a row. Column names are those of the
//! record's JSON.

use crate::table::Holds::{Double, Flag, Int, Long, Text, Time};
use crate::table::{Cell, Column, always, maybe};
use census::{TrialRow, Verdict};
use model::Unit;

/// One row per host and scenario. The scenario and the kernel series are in the folder names.
pub(crate) const VERDICTS: [Column; 22] = [
    always("host", Text),
    always("state", Text),
    always("doubted", Flag),
    always("started", Time),
    maybe("shift", Double),
    maybe("shift_unit", Text),
    maybe("kernel", Text),
    maybe("hz", Int),
    maybe("preemption", Text),
    maybe("cpus", Long),
    maybe("cpu_model", Text),
    maybe("product", Text),
    maybe("virtualised", Flag),
    maybe("cgroup", Text),
    maybe("distribution", Text),
    maybe("arch", Text),
    maybe("otp", Text),
    maybe("kind", Long),
    always("version", Text),
    always("brief", Flag),
    always("file", Text),
    maybe("line", Long),
];

/// One row per trial.
pub(crate) const TRIALS: [Column; 21] = [
    always("host", Text),
    always("started", Time),
    maybe("kernel", Text),
    maybe("otp", Text),
    always("trial", Int),
    always("block", Long),
    always("arm", Text),
    always("started_ms", Double),
    always("took_ms", Double),
    always("window_ms", Double),
    always("hang", Flag),
    maybe("measure", Text),
    maybe("value", Double),
    maybe("unit", Text),
    maybe("at_least", Flag),
    maybe("steal_ms", Double),
    maybe("run_delay_ms", Double),
    maybe("enclosing_throttled_ms", Double),
    maybe("cpu_pressure_ms", Double),
    maybe("memory_pressure_ms", Double),
    maybe("io_pressure_ms", Double),
];

/// The row of an answer.
pub(crate) fn verdict(verdict: &Verdict) -> [Cell; 22] {
    let identity = verdict.kind.map(|kind| &kind.identity);
    let text = |of: fn(&model::Identity) -> Option<&str>| Cell::texts(identity.and_then(of));
    [
        Cell::text(verdict.host),
        Cell::text(verdict.state.word()),
        Cell::Flag(verdict.doubted),
        time(verdict.started),
        Cell::double(verdict.shift.map(|(shift, _)| shift).filter(|shift| shift.is_finite())),
        Cell::texts(verdict.shift.map(|(_, unit)| word(unit))),
        text(|identity| Some(&identity.kernel)),
        identity
            .and_then(|identity| i32::try_from(identity.hz?).ok())
            .map_or(Cell::Nothing, Cell::Int),
        text(|identity| identity.preemption.as_deref()),
        identity.map_or(Cell::Nothing, |identity| Cell::Long(i64::from(identity.cpus))),
        text(|identity| identity.cpu_model.as_deref()),
        text(|identity| identity.product.as_deref()),
        identity.and_then(|identity| identity.virtualised).map_or(Cell::Nothing, Cell::Flag),
        text(|identity| identity.cgroup.as_deref()),
        text(|identity| identity.distribution.as_deref()),
        text(|identity| Some(&identity.arch)),
        Cell::texts(verdict.kind.and_then(|kind| kind.otp.as_deref())),
        verdict.kind_number.map_or(Cell::Nothing, |kind| Cell::Long(i64::from(kind))),
        Cell::text(verdict.version),
        Cell::Flag(verdict.brief),
        Cell::text(verdict.file),
        verdict.line.map_or(Cell::Nothing, |line| Cell::Long(i64::from(line))),
    ]
}

/// The row of a trial of a study; `place` is its position in the study.
pub(crate) fn trial(
    verdict: &Verdict,
    measure: Option<&str>,
    place: i32,
    trial: &TrialRow,
) -> [Cell; 21] {
    let value = trial.value;
    [
        Cell::text(verdict.host),
        time(verdict.started),
        Cell::texts(verdict.kind.map(|kind| kind.identity.kernel.as_str())),
        Cell::texts(verdict.kind.and_then(|kind| kind.otp.as_deref())),
        Cell::Int(place),
        Cell::Long(i64::from(trial.block)),
        Cell::text(&trial.arm),
        Cell::Double(trial.started_ms),
        Cell::Double(trial.took_ms),
        Cell::Double(trial.window_ms),
        Cell::Flag(trial.hang),
        Cell::texts(measure),
        Cell::double(value.map(|value| value.value)),
        Cell::texts(value.map(|value| word(value.unit))),
        value.map_or(Cell::Nothing, |value| Cell::Flag(value.at_least)),
        Cell::double(trial.steal_ms),
        Cell::double(trial.run_delay_ms),
        Cell::double(trial.enclosing_throttled_ms),
        Cell::double(trial.cpu_pressure_ms),
        Cell::double(trial.memory_pressure_ms),
        Cell::double(trial.io_pressure_ms),
    ]
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
