//! From knobs to arms and scripts.

use super::sink;
use crate::erlang::{self, Vm};
use crate::{Arms, Cell, ScenarioError};
use beam::Flags;
use model::{Arm, Role, Settings, Value};
use std::path::PathBuf;
use std::time::Duration;

/// What starting and ending a node and the calls beside the flood take, roughly.
const SET_UP: Duration = Duration::from_millis(300);

/// The most that a file sink may be filled with in a trial, in bytes.
const MOST_FILE: u64 = 1 << 30;

/// The most messages of a trial: each is ticked off where it is written.
const MOST_MESSAGES: u64 = 100_000_000;

/// What is played in a trial.
#[derive(Debug, Clone)]
pub(super) struct Script {
    /// The OTP and the compiled application.
    pub vm: Vm,
    /// Emulator flags.
    pub flags: Flags,
    /// What the server writes to.
    pub sink: String,
    /// Where the file of a file sink goes.
    pub folder: PathBuf,
    /// Processes that send.
    pub senders: u64,
    /// Messages of each.
    pub messages: u64,
    /// What a message holds: `small`.
    pub message: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Where messages wait: `on_heap`.
    pub queue_data: String,
    /// What stands in front of the server: `none`.
    pub dam: String,
    /// Whether the messages wait in the mailbox of a process that never looks at them.
    pub decoy: bool,
    /// Whether each message waits for the one before to be written.
    pub one_at_a_time: bool,
    /// When the server is killed.
    pub kill_after: Option<Duration>,
    /// When the flood is cut off.
    pub duration: Duration,
    /// The most that the VM may hold, in bytes.
    pub memory_limit: u64,
}

impl Script {
    /// Messages in all.
    pub fn offered(&self) -> u64 {
        self.senders.saturating_mul(self.messages)
    }

    /// Whether writes are timed at several lengths of the mailbox too: where all is sent to the
    /// server itself, or to its decoy.
    pub fn has_fit(&self) -> bool {
        self.dam == "none" && !self.one_at_a_time
    }
}

/// The arms: the flood of a decoy, the flood, and what may fix it. Each OTP has a control of its own.
pub(super) fn arms(settings: &Settings) -> Result<Arms, ScenarioError> {
    check(settings)?;
    let paths = erlang::paths(text(settings, "erl"));
    let flags = erlang::flags(text(settings, "flags"))?;
    let mut found = Arms::default();
    for path in &paths {
        let vm = erlang::vm(path.as_deref())?;
        erlang::accepted(&vm, &flags)?;
        let name = |id: &str| if paths.len() > 1 { vm.named(id) } else { id.to_owned() };
        let against = name("control");
        found.arms.push(arm(&vm, &against, Role::Control, &control(settings)));
        let case = arm(&vm, &name(case_id(settings)), Role::Case, settings);
        found.arms.push(Arm { against: Some(against.clone()), ..case });
        for (fix, change) in fixes(settings)? {
            let arm = arm(&vm, &name(&fix_id(&fix)), Role::Fix, &with_fix(settings, &fix));
            let (against, change) = (Some(against.clone()), Some(change));
            found.arms.push(Arm { against, change, ..arm });
        }
    }
    erlang::distinct(&found)?;
    Ok(found)
}

/// What no trial could be made of.
fn check(settings: &Settings) -> Result<(), ScenarioError> {
    let unusable = |line: String| Err(ScenarioError::Unusable(line));
    if is_paced(settings) && text(settings, "dam") != "none" {
        return unusable(
            "--pace one-at-a-time leaves nothing for a dam to do: leave out --dam, or flood it"
                .to_owned(),
        );
    }
    let killed = settings.duration("kill-after").is_some_and(|after| !after.is_zero());
    if is_decoy(settings) && (is_paced(settings) || text(settings, "dam") != "none" || killed) {
        return unusable(
            "--mailbox decoy leaves the server's mailbox empty: leave out --pace, --dam and \
             --kill-after"
                .to_owned(),
        );
    }
    let offered = number(settings, "senders").saturating_mul(number(settings, "messages"));
    if offered > MOST_MESSAGES {
        return unusable(format!(
            "{offered} messages in all are more than {MOST_MESSAGES}: take fewer --senders or \
             --messages"
        ));
    }
    let bytes = offered.saturating_mul(bytes(settings));
    if sink::is_file(text(settings, "sink")) && bytes > MOST_FILE {
        return unusable(format!(
            "{offered} messages of {} bytes may fill a file with more than 1 GiB; send fewer or \
             smaller ones",
            bytes / offered.max(1)
        ));
    }
    Ok(())
}

/// The same flood, to a decoy: the same messages of the same senders wait in the same node, only not
/// in the mailbox of the process that writes.
fn control(settings: &Settings) -> Settings {
    let mut control = settings.clone();
    control.set("mailbox", Value::Text("decoy".to_owned()));
    control.set("pace", Value::Text("flood".to_owned()));
    control.set("dam", Value::Text("none".to_owned()));
    control.set("kill-after", Value::Text("0s".to_owned()));
    control
}

fn case_id(settings: &Settings) -> &str {
    match text(settings, "dam") {
        _ if is_decoy(settings) => "decoy",
        _ if is_paced(settings) => "one-at-a-time",
        "none" => "direct",
        dam => dam,
    }
}

/// The fixes that change something here, and what each changes.
fn fixes(settings: &Settings) -> Result<Vec<(String, String)>, ScenarioError> {
    let mut found = Vec::new();
    for fix in erlang::between_semicolons(text(settings, "fixes")) {
        let change = match fix {
            "off_heap" => "process_flag(message_queue_data, off_heap) in the server",
            "threshold" => {
                "the original's dam in front of the server, which pauses at 10,000 messages"
            }
            "credit" => "tailback_dam in front of the server",
            _ => {
                return Err(ScenarioError::Unusable(format!(
                    "--fixes: `{fix}` is none of off_heap, threshold, credit"
                )));
            }
        };
        let differs = with_fix(settings, fix) != *settings;
        let dam_twice = fix != "off_heap" && text(settings, "dam") != "none";
        if differs && !dam_twice && !is_paced(settings) && !is_decoy(settings) {
            found.push((fix.to_owned(), change.to_owned()));
        }
    }
    Ok(found)
}

fn fix_id(fix: &str) -> String {
    if fix == "off_heap" { fix.to_owned() } else { format!("{fix}-dam") }
}

fn with_fix(settings: &Settings, fix: &str) -> Settings {
    let mut mended = settings.clone();
    let knob = if fix == "off_heap" { "message-queue-data" } else { "dam" };
    mended.set(knob, Value::Text(fix.to_owned()));
    mended
}

fn arm(vm: &Vm, id: &str, role: Role, settings: &Settings) -> Arm {
    let mut settings = settings.clone();
    settings.set("erl", Value::Text(vm.otp.erl.display().to_string()));
    Arm { id: id.to_owned(), role, settings, against: None, change: None }
}

fn text<'a>(settings: &'a Settings, knob: &str) -> &'a str {
    settings.text(knob).unwrap_or_default()
}

fn number(settings: &Settings, knob: &str) -> u64 {
    settings.number(knob).and_then(|n| u64::try_from(n).ok()).unwrap_or(1)
}

fn is_paced(settings: &Settings) -> bool {
    text(settings, "pace") == "one-at-a-time"
}

fn is_decoy(settings: &Settings) -> bool {
    text(settings, "mailbox") == "decoy"
}

fn bytes(settings: &Settings) -> u64 {
    match text(settings, "message") {
        "byte" => 1,
        "refc" => 70,
        "large" => settings.size("size").unwrap_or(1024),
        _ => 20,
    }
}

/// Control and case of these settings, as [`arms`] makes them, without asking an OTP.
pub(super) fn sketch(settings: &Settings) -> Result<Cell, ScenarioError> {
    check(settings)?;
    erlang::flags(text(settings, "flags"))?;
    Ok(Cell::of_pair(control(settings), settings.clone()))
}

/// What a trial of these settings plays.
pub(super) fn script(settings: &Settings) -> Result<Script, ScenarioError> {
    let path = erlang::paths(text(settings, "erl"));
    let one_at_a_time = is_paced(settings);
    let (senders, messages) = (number(settings, "senders"), number(settings, "messages"));
    // One sender, so that never two wait.
    let each =
        if one_at_a_time { (1, senders.saturating_mul(messages)) } else { (senders, messages) };
    Ok(Script {
        vm: erlang::vm(path.first().and_then(Option::as_deref))?,
        flags: erlang::flags(text(settings, "flags"))?,
        sink: text(settings, "sink").to_owned(),
        folder: match text(settings, "folder") {
            "auto" => std::env::temp_dir(),
            folder => PathBuf::from(folder),
        },
        senders: each.0,
        messages: each.1,
        message: text(settings, "message").to_owned(),
        bytes: bytes(settings),
        queue_data: text(settings, "message-queue-data").to_owned(),
        dam: text(settings, "dam").to_owned(),
        decoy: is_decoy(settings),
        one_at_a_time,
        kill_after: settings.duration("kill-after").filter(|after| !after.is_zero()),
        duration: settings.duration("duration").unwrap_or(Duration::from_millis(150)),
        memory_limit: settings.size("memory-limit").unwrap_or(512 << 20),
    })
}

/// How long a trial takes at most, for the progress bar.
pub(super) fn expected(settings: &Settings) -> Duration {
    SET_UP + settings.duration("duration").unwrap_or_default()
}

/// The arms whose mailbox is flooded and that have a fitted slope.
pub(super) fn is_direct(arm: &Arm) -> bool {
    text(&arm.settings, "dam") == "none" && !is_paced(&arm.settings)
}

/// Messages in all of an arm.
pub(super) fn offered(arm: &Arm) -> u64 {
    number(&arm.settings, "senders").saturating_mul(number(&arm.settings, "messages"))
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;

    fn settings(changed: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::defaults(META.knobs, false);
        for (knob, value) in changed {
            settings.set(knob, META.knob(knob).unwrap().parse(value).unwrap());
        }
        settings
    }

    fn fixes_of(changed: &[(&str, &str)]) -> Vec<String> {
        fixes(&settings(changed)).unwrap().into_iter().map(|(fix, _)| fix).collect()
    }

    #[test]
    fn only_what_changes_something_is_a_fix() {
        let all = ("fixes", "off_heap; threshold; credit");
        assert_eq!(fixes_of(&[all]), ["off_heap", "threshold", "credit"]);
        assert_eq!(fixes_of(&[all, ("message-queue-data", "off_heap")]), ["threshold", "credit"]);
        assert_eq!(fixes_of(&[all, ("dam", "threshold")]), ["off_heap"]);
        assert_eq!(fixes_of(&[("pace", "one-at-a-time")]), [""; 0]);
        assert_eq!(fixes_of(&[("mailbox", "decoy")]), [""; 0]);
        assert!(fixes(&settings(&[("fixes", "prayer")])).is_err());
    }

    #[test]
    fn the_control_floods_a_decoy_and_has_no_dam_and_no_kill() {
        let case = settings(&[("dam", "credit"), ("kill-after", "100ms")]);
        let control = control(&case);
        assert!(check(&control).is_ok());
        assert!(is_decoy(&control) && !is_paced(&control));
        for same in ["senders", "messages", "message", "sink", "duration", "message-queue-data"] {
            assert_eq!(control.0.get(same), case.0.get(same), "{same}");
        }
        assert_eq!(control.duration("kill-after"), Some(Duration::ZERO));
    }

    #[test]
    fn what_makes_no_trial_is_refused() {
        let paced = settings(&[("dam", "credit"), ("pace", "one-at-a-time")]);
        assert!(check(&paced).is_err());
        assert!(check(&settings(&[("mailbox", "decoy"), ("dam", "credit")])).is_err());
        assert!(check(&settings(&[("mailbox", "decoy"), ("kill-after", "1s")])).is_err());
        assert!(check(&settings(&[("mailbox", "decoy")])).is_ok());
        let huge = [("sink", "file"), ("message", "large"), ("size", "1MiB")];
        assert!(check(&settings(&huge)).is_err());
        assert!(check(&settings(&[("sink", "port"), huge[1], huge[2]])).is_ok());
        assert!(check(&settings(&[("messages", "10000000")])).is_err());
    }
}
