//! `tailback explain RECORD`.

use crate::exit::Failure;
use crate::{output, records};
use clap::ArgMatches;
use model::{Explanation, Judged, Live};
use std::path::{Path, PathBuf};

/// Explains a record; the exit code of its verdict.
pub fn explain(matches: &ArgMatches) -> Result<u8, Failure> {
    let path = matches
        .get_one::<PathBuf>("file")
        .ok_or_else(|| Failure::usage("no record; see tailback explain --help"))?;
    let record = records::judged(path)?;
    if let Some(live) = &record.live {
        let code = explain_live(live, &record, matches);
        if let Some(to) = matches.get_one::<PathBuf>("perfetto") {
            write_trace(&record, to)?;
        }
        return Ok(code);
    }
    let (record, meta) = records::known(record, path)?;
    let arm = matches.get_one::<String>("arm").map(String::as_str);
    check_arm(&record, path, arm)?;
    let explanation = analysis::explain(&record, arm);
    if matches.get_flag("json") {
        // An explanation holds text and finite numbers only, which always serialise.
        let text = serde_json::to_string_pretty(&explanation).unwrap_or_default();
        output::json(&format!("{text}\n"));
    } else {
        output::print(&report::explanation(&explanation, Some(meta), output::look_of(matches)));
    }
    if matches.get_flag("timeline") {
        show_timeline(&explanation);
    }
    if let Some(to) = matches.get_one::<PathBuf>("perfetto") {
        write_trace(&record, to)?;
    }
    Ok(record.judgement.state.exit_code())
}

/// What `tailback watch` saw, again.
fn explain_live(live: &Live, record: &Judged, matches: &ArgMatches) -> u8 {
    if matches.get_flag("json") {
        // Text and finite numbers only, which always serialise.
        let text = serde_json::to_string_pretty(live).unwrap_or_default();
        output::json(&format!("{text}\n"));
    } else {
        output::print(&report::live(live, records::meta_of, output::look_of(matches)));
    }
    record.judgement.state.exit_code()
}

fn check_arm(record: &Judged, path: &Path, arm: Option<&str>) -> Result<(), Failure> {
    let Some(arm) = arm else { return Ok(()) };
    if record.probed.iter().any(|probed| probed.trial.arm == arm) {
        return Ok(());
    }
    let arms: Vec<&str> = record.probed.iter().map(|probed| probed.trial.arm.as_str()).collect();
    let there = if arms.is_empty() { "none".to_owned() } else { arms.join(", ") };
    Err(Failure::usage(format!(
        "--arm {arm}: {}: no trial with probes of it; there are: {there}",
        path.display()
    )))
}

fn show_timeline(explanation: &Explanation) {
    match explanation.waits.first().filter(|wait| !wait.timeline.is_empty()) {
        Some(wait) => output::print(&format!("\n{}", report::timeline(wait))),
        None => output::note("no timeline: the record has no wait that was followed"),
    }
}

fn write_trace(record: &Judged, to: &Path) -> Result<(), Failure> {
    std::fs::write(to, report::trace(record))
        .map_err(|error| Failure::need(format!("--perfetto {}: {error}", to.display())))?;
    output::note(&format!("trace: {}; open it at https://ui.perfetto.dev", to.display()));
    Ok(())
}
