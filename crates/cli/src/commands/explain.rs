//! `tailback explain RECORD`.

use crate::command::{Failure, Run, Session, VERDICT, below};
use crate::{output, page, paths, records};
use model::{Explanation, Judged, Live};
use runner::SaveError;
use std::path::{Path, PathBuf};

/// Show which task held up which in a record, and what fixes it
#[derive(clap::Args)]
#[command(after_help = below(VERDICT, [
    "tailback explain run.json",
    "tailback explain run.json --perfetto run.trace",
]))]
pub struct Explain {
    /// The record; - reads standard input
    #[arg(value_name = "RECORD")]
    file: PathBuf,
    /// Explain this arm [default: the arm that waited longest]
    #[arg(long, value_name = "ARM")]
    arm: Option<String>,
    /// Also show the worst wait step by step
    #[arg(long)]
    timeline: bool,
    /// Write the worst waits as a trace for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Print JSON; times are in ns
    #[arg(long)]
    json: bool,
    /// Also show what the probes cost, figure by figure
    #[arg(long)]
    why: bool,
}

/// What `--timeline` says about a record of a watch.
const NO_TIMELINE_OF_WATCH: &str = "no timeline: a watch records no wait step by step; --perfetto \
    FILE writes what it saw over time";

impl Run for Explain {
    /// The exit code is the one of the verdict.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        self.check_trace_file()?;
        let record = records::judged(&self.file)?;
        if let Some(live) = &record.live {
            check_arm(&record, &self.file, self.arm.as_deref())?;
            let code = self.live(session, live, &record);
            if self.timeline {
                output::note(NO_TIMELINE_OF_WATCH);
            }
            self.write_trace(&record)?;
            return Ok(code);
        }
        let (record, meta) = records::known(record, &self.file)?;
        let arm = self.arm.as_deref();
        check_arm(&record, &self.file, arm)?;
        let explanation = analysis::explain(&record, arm);
        if self.json {
            session.out.value(&explanation);
        } else {
            let look = output::look_with(self.why);
            session.out.print(&report::explanation(&explanation, &record, Some(meta), look));
        }
        // The JSON has the timeline already.
        if self.timeline && !self.json {
            show_timeline(session, &explanation);
        }
        self.write_trace(&record)?;
        Ok(record.judgement.state.exit_code())
    }

    fn writes(&self) -> Option<Vec<&Path>> {
        Some(self.perfetto.iter().map(PathBuf::as_path).collect())
    }
}

impl Explain {
    /// Shows again what `tailback watch` saw.
    fn live(&self, session: &Session, live: &Live, record: &Judged) -> u8 {
        if self.json {
            session.out.json(&live.to_json());
        } else {
            let look = output::look_with(self.why);
            session.out.print(&report::live(live, records::meta_of, look));
        }
        record.judgement.state.exit_code()
    }

    /// Refuses to replace a record by the trace, and a folder that cannot be written. A record
    /// without a trace would not show the latter, since nothing is written then.
    fn check_trace_file(&self) -> Result<(), Failure> {
        let Some(to) = &self.perfetto else { return Ok(()) };
        if paths::holds_record(to) {
            return Err(Failure::usage(format!(
                "--perfetto {}: the existing file is a record of tailback, and is not overwritten; \
                 name another file",
                to.display()
            )));
        }
        let target = runner::target(to);
        let checked = target.and_then(|target| runner::check_folder(&paths::folder_of(&target)));
        checked.map_err(|source| not_written(&SaveError { path: to.clone(), source }))
    }

    fn write_trace(&self, record: &Judged) -> Result<(), Failure> {
        let Some(to) = &self.perfetto else { return Ok(()) };
        let Some(trace) = report::trace(record) else {
            output::note(no_trace(record));
            return Ok(());
        };
        runner::save_text(&trace, to).map_err(|error| not_written(&error))?;
        output::note(&format!("trace: {}; open it at https://ui.perfetto.dev", to.display()));
        Ok(())
    }
}

/// Why no trace is written.
fn no_trace(record: &Judged) -> &'static str {
    match record.live.is_some() {
        true => "no trace: the watch found nothing, and its record has no figures over time",
        false => "no trace: no wait was recorded step by step",
    }
}

fn not_written(error: &SaveError) -> Failure {
    let failure = page::not_written(error, "file");
    Failure { line: format!("--perfetto {}", failure.line), ..failure }
}

fn check_arm(record: &Judged, path: &Path, arm: Option<&str>) -> Result<(), Failure> {
    let Some(arm) = arm else { return Ok(()) };
    if record.probed.iter().any(|probed| probed.trial.arm == arm) {
        return Ok(());
    }
    let arms: Vec<&str> = record.probed.iter().map(|probed| probed.trial.arm.as_str()).collect();
    let there = if arms.is_empty() { "none".to_owned() } else { arms.join(", ") };
    Err(Failure::usage(format!(
        "--arm {arm}: {}: this arm has no trial with probes; arms with probes: {there}",
        path.display()
    )))
}

fn show_timeline(session: &Session, explanation: &Explanation) {
    match explanation.waits.first().filter(|wait| !wait.timeline.is_empty()) {
        Some(wait) => session.out.print(&format!("\n{}", report::timeline(wait))),
        None => output::note("no timeline: no wait was recorded step by step"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;
    use model::live::Finding;

    fn explain(perfetto: PathBuf) -> Explain {
        Explain {
            file: PathBuf::from("run.json"),
            arm: None,
            timeline: false,
            perfetto: Some(perfetto),
            json: false,
            why: false,
        }
    }

    #[test]
    fn a_trace_without_events_is_not_written() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("run.trace");
        let explain = explain(file.clone());
        let mut record = crate::testing::affected_record();
        assert!(no_trace(&record).contains("step by step"));
        assert!(explain.write_trace(&record).is_ok() && !file.exists());
        record.facts.live = Some(Live::default());
        assert!(no_trace(&record).contains("watch"));
        assert!(explain.write_trace(&record).is_ok() && !file.exists());
        let found = Live { findings: vec![Finding::default()], ..Live::default() };
        record.facts.live = Some(found);
        assert!(explain.write_trace(&record).is_ok() && file.exists());
    }

    #[test]
    fn a_trace_in_a_missing_folder_is_refused_even_if_there_is_none_to_write() {
        let place = tempfile::tempdir().unwrap();
        assert!(explain(place.path().join("run.trace")).check_trace_file().is_ok());
        let refused = explain(place.path().join("missing/run.trace")).check_trace_file();
        let failure = refused.unwrap_err();
        assert_eq!(failure.code, exit::USAGE);
        assert!(failure.line.starts_with("--perfetto "), "{}", failure.line);
    }
}
