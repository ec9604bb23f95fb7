//! `--incidents` and `--on-finding`: one line of JSON when an incident begins, and one when it
//! has ended.

use super::notifier::Notifier;
use super::record;
use super::session::WatchSession;
use crate::command::Session as Program;
use crate::output;
use crate::records::meta_of;
use report::prose::live as words;
use watch::{Change, Event, Incidents, Moment};

/// The schema of a line.
const SCHEMA: &str = "tailback/incident/1";

/// The incidents of a watch, and the receivers of their lines.
pub struct IncidentLog {
    incidents: Incidents,
    /// The watched time at the last look, in seconds.
    looked_s: f64,
    prints: bool,
    notifier: Option<Notifier>,
    has_complained: bool,
}

impl IncidentLog {
    /// Prints the lines, passes them to a program, or both.
    pub fn new(prints: bool, notifier: Option<Notifier>) -> Self {
        let incidents = Incidents::default();
        IncidentLog { incidents, looked_s: 0.0, prints, notifier, has_complained: false }
    }

    /// Updates the incidents from the last seconds. Returns whether an incident began.
    pub fn look(&mut self, session: &WatchSession, program: &Program) -> bool {
        let Some(last) = session.seen() else { return false };
        let now_s = session.seconds();
        let passed_s = now_s - std::mem::replace(&mut self.looked_s, now_s);
        let clock = record::now();
        let events = self.incidents.look(last, Moment { now_s, passed_s, clock: &clock });
        if self.incidents.has_dropped() && !std::mem::replace(&mut self.has_complained, true) {
            output::complain("too many incidents at the same time; some are missing");
        }
        self.give(&events, program);
        events.iter().any(|event| event.event == Change::Began)
    }

    /// Ends all open incidents.
    pub fn end(mut self, program: &Program) {
        let events = self.incidents.end_all();
        self.give(&events, program);
        if let Some(notifier) = self.notifier {
            notifier.end();
        }
    }

    fn give(&mut self, events: &[Event], program: &Program) {
        for line in events.iter().map(line) {
            if self.prints {
                program.out.json(&format!("{line}\n"));
            }
            if let Some(notifier) = &mut self.notifier {
                notifier.send(&line);
            }
        }
        if let Some(notifier) = &mut self.notifier {
            notifier.flush();
        }
    }
}

fn line(event: &Event) -> String {
    let mut line = serde_json::json!({
        "schema": SCHEMA,
        "at": record::now(),
        "incident": event,
    });
    match event.lasted_s {
        Some(lasted_s) => {
            line["says"] = words::ended(&event.finding, event.lost_s, lasted_s).into();
        }
        None => {
            let stall = words::stall_name(&event.finding.stall);
            line["says"] = format!("{stall}: {}", words::brief(&event.finding)).into();
            line["fix"] = words::finding(&event.finding, meta_of).fixes.first().cloned().into();
        }
    }
    line.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{Finding, Program};

    #[test]
    fn a_line_says_which_stall_begins_and_which_has_ended() {
        let event = |event, lasted_s| Event {
            id: String::new(),
            event,
            began: String::new(),
            lasted_s,
            lost_s: 4.0,
            finding: Finding {
                stall: "cpu-quota".to_owned(),
                victim: Program { name: "web".to_owned(), ..Program::default() },
                cost_ms_per_s: 500.0,
                worst_ms: 80.0,
                ..Finding::default()
            },
        };
        let says = |event: &Event| {
            let line: serde_json::Value = serde_json::from_str(&line(event)).unwrap();
            line["says"].as_str().unwrap().to_owned()
        };
        let began = "cpu-quota: web loses 500 ms/s; its longest wait was 80 ms.";
        assert_eq!(says(&event(Change::Began, None)), began);
        let ended = "Over: cpu-quota of web. It lost 4.0 s in 8.0 s; its longest wait was 80 ms.";
        assert_eq!(says(&event(Change::Ended, Some(8.0))), ended);
    }
}
