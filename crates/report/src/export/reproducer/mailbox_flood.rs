//! The reproducer of `mailbox-flood`.

use super::part::{Groups, Language, Part};
use super::settings::{Defines, Field, Read, alike, field, ms, trial_ms};
use scenarios::mailbox_flood::{Dam, Mailbox, MailboxFloodParams, Message, Pace, SinkKind};
use scenarios::params::Time;

/// Its part.
pub const PART: Part = Part {
    scenario: "mailbox-flood",
    source: include_str!("../../../../scenarios/src/mailbox_flood/reproducer.erl"),
    language: Language::Escript,
    groups: Groups::None,
    defines,
};

/// Most messages of all senders together.
const MOST: i64 = 100_000_000;

/// The number of writes that are timed with an empty queue, and the most bytes that they may
/// write.
const WRITES: (u64, u64) = (300, 256 << 20);

fn defines(control_arm: Read, case_arm: Read) -> Result<Defines, String> {
    let control: MailboxFloodParams = control_arm.params()?;
    let case: MailboxFloodParams = case_arm.params()?;
    field!(case.mailbox).is(&Mailbox::Server)?;
    field!(control.mailbox).is(&Mailbox::Decoy)?;
    field!(case.dam).is(&Dam::None)?;
    field!(case.pace).is(&Pace::Flood)?;
    field!(case.kill_after).is(&Time::ZERO)?;
    alike!(control, case: sink, senders, messages, message, size, message_queue_data, duration);
    let bytes = match case.message {
        Message::Byte => 1,
        Message::Small => 20,
        Message::Refc => 70,
        Message::Large => case.size.get().max(1),
    };
    let senders = field!(case.senders).within(1..=MOST)?;
    let messages = field!(case.messages).within(1..=MOST / senders)?;
    Ok(vec![
        ("OTP", case_arm.otp()?),
        ("CONTROL_FLAGS", control_arm.flags()?),
        ("CASE_FLAGS", case_arm.flags()?),
        ("SINK", sink(&field!(case.sink))?.to_owned()),
        ("SENDERS", senders.to_string()),
        ("MESSAGES", messages.to_string()),
        ("BYTES", bytes.to_string()),
        ("WRITES", (WRITES.1 / bytes).clamp(10, WRITES.0).to_string()),
        ("MESSAGE_QUEUE_DATA", case.message_queue_data.to_string()),
        ("DURATION_MS", ms(case.duration).to_string()),
        ("MEMORY_LIMIT", case.memory_limit.get().to_string()),
        ("TRIAL_MS", trial_ms(ms(case.duration))?),
    ])
}

/// What the server writes to, as the script calls it.
fn sink(sink: &Field<SinkKind>) -> Result<&'static str, String> {
    Ok(match sink.value {
        SinkKind::Port => "port",
        SinkKind::Tag => "tag",
        SinkKind::Tcp => "tcp",
        SinkKind::Udp => "udp",
        SinkKind::GenServer => "gen_server",
        _ => return Err(sink.none()),
    })
}
