//! The observations of a watch as a record, which other commands can read.

use crate::exit::Failure;
use crate::{machine, output, paths, records};
use model::record::Plan;
use model::scenario::Judging;
use model::{Ended, Facts, Judged, Live};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The name that stands in place of a scenario.
pub const WATCH: &str = "watch";

/// The current time (RFC 3339, UTC).
pub fn now() -> String {
    jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string()
}

/// The time `seconds` before `moment`; `moment` itself if it is no valid time.
pub fn seconds_before(moment: &str, seconds: f64) -> String {
    let before = || {
        let span = jiff::SignedDuration::try_from_secs_f64(seconds.max(0.0)).ok()?;
        let at = moment.parse::<jiff::Timestamp>().ok()?.checked_sub(span).ok()?;
        at.round(jiff::Unit::Second).ok()
    };
    before().map_or_else(|| moment.to_owned(), |at| at.to_string())
}

/// Checks before anything is measured whether a record can be kept at `path`. Makes its folder, and
/// keeps it open. Returns the file to write. With `beside`, each record becomes a new file.
/// Otherwise the record at the end replaces an earlier one.
///
/// # Errors
/// If no record can be kept there.
pub fn check(path: &Path, beside: bool) -> Result<PathBuf, Failure> {
    let refused = |error: Error| {
        let line = format!("--record {}: {error}; name a file that can be written", path.display());
        match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Failure::need(line),
            _ => Failure::usage(line),
        }
    };
    if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(refused(Error::other("not the name of a file")));
    }
    // With `beside`, an existing file of this name stays, even a link.
    let target = match beside {
        true => path.to_owned(),
        false => runner::target(path).map_err(refused)?,
    };
    if !beside {
        paths::refuse_other(&target).map_err(refused)?;
    }
    paths::make_folder(&target).map_err(refused)?;
    Ok(target)
}

/// Writes the record.
///
/// # Errors
/// If the file cannot be written.
pub fn write(live: &Live, path: &Path) -> Result<(), Failure> {
    runner::save(&of(live), path)
        .map_err(|error| Failure::need(format!("--record {error}; name another file")))?;
    output::note(&format!("record: {}", path.display()));
    Ok(())
}

/// The record. It has no trials, since watch only observes.
pub fn of(live: &Live) -> Judged {
    let argv = std::env::args().collect();
    let facts = Facts::new(WATCH, plan(), machine::here(None), argv, live.from.clone());
    records::with_judgement(Facts {
        elapsed_s: live.over_ns as f64 / 1e9,
        ended: Ended::Complete,
        live: Some(live.clone()),
        ..facts
    })
}

fn plan() -> Plan {
    Plan {
        arms: Vec::new(),
        seed: 0,
        min_blocks: 0,
        max_blocks: 0,
        stop_when_settled: false,
        error_rate: None,
        settle_fixes: false,
        wash_out: false,
        judging: Judging {
            measure: "lost".into(),
            margin: 0.0,
            control_limit: 0.0,
            wants_cpu: false,
            error_rate: 0.05,
            confidence: 0.95,
        },
        also: Vec::new(),
        left_out: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_time_is_in_the_form_of_the_later_one() {
        let before = |seconds| seconds_before("2026-11-29T10:00:00Z", seconds);
        assert_eq!(before(90.4), "2026-11-29T09:58:30Z");
        assert_eq!(before(-5.0), "2026-11-29T10:00:00Z");
        assert_eq!(seconds_before("soon", 9.0), "soon");
    }
}
