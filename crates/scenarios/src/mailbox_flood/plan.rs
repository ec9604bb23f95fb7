//! Turns parameters into arms and trials.

use super::params::{
    Dam, FloodFix, Mailbox, MailboxFloodParams, Message, Pace, QueueData, SinkKind,
};
use super::sentences::MailboxFloodFact;
use crate::erlang::{self, Vm};
use crate::params::{Folder, Programs, Time};
use crate::{Arms, Cell, Host, ScenarioError};
use beam::Flags;
use model::{Arm, Changed, Role};
use std::path::PathBuf;
use std::time::Duration;

/// Estimated time to start and end a node and for the calls besides the flood.
const SET_UP: Duration = Duration::from_millis(300);

/// The largest file of a file sink in a trial, in bytes.
const MOST_FILE: u64 = 1 << 30;

/// The most messages of a trial. Each message is marked when it is written.
const MOST_MESSAGES: u64 = 100_000_000;

/// What a trial runs.
#[derive(Debug, Clone)]
pub(super) struct TrialSpec {
    /// The OTP and the compiled application.
    pub vm: Vm,
    /// Emulator flags.
    pub flags: Flags,
    /// The sink that the server writes to.
    pub sink: SinkKind,
    /// Folder for the file of a file sink.
    pub folder: PathBuf,
    /// Number of processes that send.
    pub senders: u64,
    /// Number of messages of each sender.
    pub messages: u64,
    /// Content of a message.
    pub message: Message,
    /// Size of a message, in bytes.
    pub bytes: u64,
    /// Where waiting messages are kept.
    pub queue_data: QueueData,
    /// The dam in front of the server.
    pub dam: Dam,
    /// Whether the messages wait in the mailbox of a process that never looks at them.
    pub decoy: bool,
    /// Whether each message waits until the previous one is written.
    pub one_at_a_time: bool,
    /// When the server is killed. None: never.
    pub kill_after: Option<Duration>,
    /// When the flood is ended.
    pub duration: Duration,
    /// Most memory that the VM may use, in bytes.
    pub memory_limit: u64,
}

impl TrialSpec {
    /// Number of messages of all senders together.
    pub fn offered(&self) -> u64 {
        self.senders.saturating_mul(self.messages)
    }

    /// Whether writes are also timed at several lengths of the mailbox. This needs a flood that
    /// goes to the server directly, or to its decoy, and whose messages do not wait for each other.
    pub fn has_fit(&self) -> bool {
        self.dam == Dam::None && !self.one_at_a_time
    }
}

/// The arms: the flood of a decoy as the control, the flood as the case, and the fixes. Each OTP
/// has its own control.
pub(super) fn arms(
    params: &MailboxFloodParams,
    host: &Host,
) -> Result<Arms<MailboxFloodParams>, ScenarioError> {
    params.check()?;
    let paths = params.otp.words();
    let flags = erlang::flags(params.flags.as_str())?;
    let mut found = Arms::default();
    for path in &paths {
        let vm = host.otps.vm(path.as_deref())?;
        erlang::accepted(&vm, &flags)?;
        let name = |id: &str| if paths.len() > 1 { vm.named(id) } else { id.to_owned() };
        let arm = |id: &str, role, params: MailboxFloodParams| Arm {
            id: name(id),
            role,
            settings: MailboxFloodParams { otp: Programs::one(&vm.word), ..params },
            against: None,
            change: None,
        };
        let control = arm("control", Role::Control, params.control());
        let against = Some(control.id.clone());
        let case = arm(&params.case_id(), Role::Case, params.clone());
        found.arms.extend([control, Arm { against: against.clone(), ..case }]);
        for fix in params.fixes_that_change() {
            let arm = arm(&fix_id(fix), Role::Fix, params.with(fix));
            let change = Some(Changed::Scenario(change(fix).into()));
            found.arms.push(Arm { against: against.clone(), change, ..arm });
        }
    }
    erlang::distinct(&found)?;
    Ok(found)
}

impl MailboxFloodParams {
    /// Refuses parameters that allow no trial.
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        let unusable = |fact: MailboxFloodFact| Err(ScenarioError::unusable(fact));
        if self.is_paced() && self.dam != Dam::None {
            return unusable(MailboxFloodFact::NothingToDam);
        }
        let killed = !self.kill_after.is_zero();
        if self.is_decoy() && (self.is_paced() || self.dam != Dam::None || killed) {
            return unusable(MailboxFloodFact::OnlyADecoy);
        }
        if killed && self.kill_after >= self.duration {
            let kill_after = (&self.kill_after).into();
            let duration = (&self.duration).into();
            return unusable(MailboxFloodFact::KilledTooLate { kill_after, duration });
        }
        let offered = self.offered();
        if offered > MOST_MESSAGES {
            let most = MOST_MESSAGES;
            return unusable(MailboxFloodFact::TooManyMessages { offered, most });
        }
        let bytes = self.bytes();
        if self.sink.is_file() && offered.saturating_mul(bytes) > MOST_FILE {
            return unusable(MailboxFloodFact::FileTooLarge { offered, bytes });
        }
        Ok(())
    }

    /// The same flood, sent to a decoy. The same messages of the same senders wait in the same
    /// node, but not in the mailbox of the process that writes.
    fn control(&self) -> Self {
        MailboxFloodParams {
            mailbox: Mailbox::Decoy,
            pace: Pace::Flood,
            dam: Dam::None,
            kill_after: Time::ZERO,
            ..self.clone()
        }
    }

    fn case_id(&self) -> String {
        match self.dam {
            _ if self.is_decoy() => "decoy".to_owned(),
            _ if self.is_paced() => "one-at-a-time".to_owned(),
            Dam::None => "direct".to_owned(),
            dam => dam.to_string(),
        }
    }

    /// The fixes that change something for these parameters.
    fn fixes_that_change(&self) -> Vec<FloodFix> {
        let changes = |fix: &FloodFix| {
            let dam_twice = *fix != FloodFix::OffHeap && self.dam != Dam::None;
            let differs = self.with(*fix) != *self;
            differs && !dam_twice && !self.is_paced() && !self.is_decoy()
        };
        self.fixes.parts().iter().copied().filter(changes).collect()
    }

    fn with(&self, fix: FloodFix) -> Self {
        let mut fixed = self.clone();
        match fix {
            FloodFix::OffHeap => fixed.message_queue_data = QueueData::OffHeap,
            FloodFix::Threshold => fixed.dam = Dam::Threshold,
            FloodFix::Credit => fixed.dam = Dam::Credit,
        }
        fixed
    }

    /// Whether two messages never wait at the same time.
    pub(super) fn is_paced(&self) -> bool {
        self.pace == Pace::OneAtATime
    }

    fn is_decoy(&self) -> bool {
        self.mailbox == Mailbox::Decoy
    }

    fn bytes(&self) -> u64 {
        match self.message {
            Message::Byte => 1,
            Message::Small => 20,
            Message::Refc => 70,
            Message::Large => self.size.get(),
        }
    }

    /// Whether the mailbox is flooded directly, so that there is a fitted slope.
    pub(super) fn is_direct(&self) -> bool {
        self.dam == Dam::None && !self.is_paced()
    }

    /// Whether the flood waits in the mailbox of the server.
    pub(super) fn floods_server(&self) -> bool {
        self.is_direct() && !self.is_decoy()
    }

    /// Number of messages of all senders together.
    pub(super) fn offered(&self) -> u64 {
        u64::from(self.senders) * u64::from(self.messages)
    }
}

fn fix_id(fix: FloodFix) -> String {
    match fix {
        FloodFix::OffHeap => fix.to_string(),
        FloodFix::Threshold | FloodFix::Credit => format!("{fix}-dam"),
    }
}

/// What a fix changes.
fn change(fix: FloodFix) -> MailboxFloodFact {
    match fix {
        FloodFix::OffHeap => MailboxFloodFact::OffHeap,
        FloodFix::Threshold => MailboxFloodFact::Threshold,
        FloodFix::Credit => MailboxFloodFact::Credit,
    }
}

/// Control and case of these parameters, as [`arms`] makes them, but without asking an OTP.
pub(super) fn sketch(
    params: &MailboxFloodParams,
) -> Result<Cell<MailboxFloodParams>, ScenarioError> {
    params.check()?;
    Ok(Cell::of_pair(params.control(), params.clone()))
}

/// The trial for these parameters.
pub(super) fn spec(params: &MailboxFloodParams, host: &Host) -> Result<TrialSpec, ScenarioError> {
    let path = params.otp.words().into_iter().next().flatten();
    let one_at_a_time = params.is_paced();
    // With one sender, two messages never wait at the same time.
    let (senders, messages) = match one_at_a_time {
        true => (1, params.offered()),
        false => (params.senders.into(), params.messages.into()),
    };
    let folder = params.folder.value().map(Folder::path);
    Ok(TrialSpec {
        vm: host.otps.vm(path.as_deref())?,
        flags: erlang::flags(params.flags.as_str())?,
        sink: params.sink,
        folder: folder.map_or_else(std::env::temp_dir, PathBuf::from),
        senders,
        messages,
        message: params.message,
        bytes: params.bytes(),
        queue_data: params.message_queue_data,
        dam: params.dam,
        decoy: params.is_decoy(),
        one_at_a_time,
        kill_after: Some(params.kill_after.get()).filter(|after| !after.is_zero()),
        duration: params.duration.get(),
        memory_limit: params.memory_limit.get(),
    })
}

/// Longest duration of a trial, for the progress bar.
pub(super) fn expected(params: &MailboxFloodParams) -> Duration {
    SET_UP + params.duration.get()
}

#[cfg(test)]
mod tests {
    use super::super::meta::META;
    use super::*;
    use crate::params::{List, Size};
    use crate::testing;

    fn usual() -> MailboxFloodParams {
        let fixes = List::new(vec![FloodFix::OffHeap, FloodFix::Threshold, FloodFix::Credit]);
        MailboxFloodParams { fixes, ..MailboxFloodParams::default() }
    }

    #[test]
    fn only_what_changes_something_is_a_fix() {
        use FloodFix::{Credit, OffHeap, Threshold};
        let fixes = |params: MailboxFloodParams| params.fixes_that_change();
        assert_eq!(fixes(usual()), [OffHeap, Threshold, Credit]);
        let off_heap = QueueData::OffHeap;
        let params = MailboxFloodParams { message_queue_data: off_heap, ..usual() };
        assert_eq!(fixes(params), [Threshold, Credit]);
        assert_eq!(fixes(MailboxFloodParams { dam: Dam::Threshold, ..usual() }), [OffHeap]);
        let paced = MailboxFloodParams { pace: Pace::OneAtATime, ..usual() };
        let decoy = MailboxFloodParams { mailbox: Mailbox::Decoy, ..usual() };
        assert!(fixes(paced).is_empty() && fixes(decoy).is_empty());
    }

    #[test]
    fn the_control_floods_a_decoy_and_has_no_dam_and_no_kill() {
        let case = MailboxFloodParams { dam: Dam::Credit, kill_after: Time::ms(100), ..usual() };
        let control = case.control();
        assert!(control.check().is_ok());
        assert!(control.is_decoy() && !control.is_paced() && control.kill_after.is_zero());
        let MailboxFloodParams { mailbox, pace, dam, kill_after, .. } = case.clone();
        let same = MailboxFloodParams { mailbox, pace, dam, kill_after, ..control };
        assert_eq!(same, case, "they differ in nothing else");
    }

    #[test]
    fn only_a_direct_flood_waits_for_the_server() {
        assert!(usual().floods_server());
        for other in [
            MailboxFloodParams { mailbox: Mailbox::Decoy, ..usual() },
            MailboxFloodParams { pace: Pace::OneAtATime, ..usual() },
            MailboxFloodParams { dam: Dam::Credit, ..usual() },
        ] {
            assert!(!other.floods_server(), "{other:?}");
        }
    }

    #[test]
    fn what_makes_no_trial_is_refused() {
        let (mailbox, dam, pace) = (Mailbox::Decoy, Dam::Credit, Pace::OneAtATime);
        assert!(MailboxFloodParams { mailbox, ..usual() }.check().is_ok());
        let large = MailboxFloodParams { message: Message::Large, size: Size::mib(1), ..usual() };
        assert!(large.check().is_ok());
        for (params, part) in [
            (MailboxFloodParams { dam, pace, ..usual() }, "leaves nothing for a dam"),
            (MailboxFloodParams { mailbox, dam, ..usual() }, "leave out --pace"),
            (MailboxFloodParams { mailbox, kill_after: Time::s(1), ..usual() }, "--kill-after"),
            (MailboxFloodParams { kill_after: Time::ms(150), ..usual() }, "--kill-after 150ms: "),
            (MailboxFloodParams { sink: SinkKind::File, ..large }, "more than 1 GiB"),
            (MailboxFloodParams { messages: 10_000_000, ..usual() }, "lower --senders"),
        ] {
            let refused = testing::refused(&META, params.check());
            assert!(refused.contains(part), "{refused}");
        }
    }
}
