//! The answer of the module to Ansible: one JSON object.

use super::carried::Captured;
use crate::exit;
use crate::session::Session;
use model::Identity;
use serde::Serialize;
use std::time::Duration;

/// The answer of the module. It never says `changed`: the module leaves the host as it was.
#[derive(Debug, Default, Serialize)]
pub struct Answer {
    changed: bool,
    failed: bool,
    msg: String,
    /// Brief records, one line of JSON each.
    briefs: Vec<String>,
    /// The exit code of tailback.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<u8>,
    /// How long the run took, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    /// The properties by which a census groups this host with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<Identity>,
}

impl Answer {
    /// The answer when nothing could be measured.
    pub fn failed(why: &str) -> Self {
        Answer { failed: true, msg: os::terminal::line(why), ..Answer::default() }
    }

    /// The answer when the run took too long and was stopped.
    pub fn overdue(limit: Duration) -> Self {
        Answer::failed(&format!(
            "tailback did not end within {} s and was stopped; give it a smaller budget",
            limit.as_secs()
        ))
    }

    /// The answer in check mode, in which nothing runs.
    pub fn would_run(words: &[String]) -> Self {
        let words = words.iter().map(|word| os::quote::word(word));
        let line = words.collect::<Vec<String>>().join(" ");
        Answer {
            msg: format!("would run: tailback {line}"),
            identity: Some(crate::identity::here()),
            ..Answer::default()
        }
    }

    /// The answer made of the output of tailback. Without a brief record, it is a failure.
    pub fn of(code: u8, heard: &Captured, took: Duration) -> Self {
        let briefs: Vec<String> = heard.out.lines().map(str::to_owned).collect();
        let last = heard.err.lines().last().unwrap_or("tailback printed nothing");
        let failed = briefs.is_empty();
        Answer {
            failed,
            msg: if failed { os::terminal::line(last) } else { String::new() },
            briefs,
            exit: Some(code),
            seconds: Some((took.as_secs_f64() * 10.0).round() / 10.0),
            ..Answer::default()
        }
    }

    /// Prints the answer and returns the exit code.
    pub fn print(&self, session: &Session) -> u8 {
        // Text keys and finite numbers always serialise.
        session.out.json(&format!("{}\n", serde_json::to_string(self).unwrap_or_default()));
        if self.failed { exit::NEED } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_a_brief_record_has_failed() {
        let heard = |out: &str, err: &str| Captured { out: out.to_owned(), err: err.to_owned() };
        let none = Answer::of(3, &heard("", "note\ntailback: no CPU\n"), Duration::ZERO);
        assert!(none.failed && none.msg == "tailback: no CPU");
        let one = Answer::of(1, &heard("{}\n", "record: x\n"), Duration::from_millis(1_234));
        assert!(!one.failed && !one.changed && one.msg.is_empty());
        assert_eq!((one.briefs, one.seconds), (vec!["{}".to_owned()], Some(1.2)));
    }
}
