//! The reproducer of `mailbox-flood`.

use super::part::{Language, Part};
use super::settings::{Defines, Read};

/// Its part.
pub const PART: Part = Part {
    scenario: "mailbox-flood",
    source: include_str!("../../../../scenarios/src/mailbox_flood/reproducer.erl"),
    language: Language::Escript,
    groups: false,
    defines,
};

/// What the server can write to here.
const SINKS: [(&str, &str); 5] = [
    ("port", "port"),
    ("tag", "tag"),
    ("tcp", "tcp"),
    ("udp", "udp"),
    ("gen-server", "gen_server"),
];

/// Most messages of all senders together.
const MOST: u64 = 100_000_000;

/// What the control has as the case has it.
const ALIKE: [&str; 7] =
    ["sink", "senders", "messages", "message", "size", "message-queue-data", "duration"];

/// Writes that are timed with nothing queued, and the most bytes that they may move.
const WRITES: (u64, u64) = (300, 256 << 20);

fn defines(control: Read, case: Read) -> Result<Defines, String> {
    case.is("mailbox", "server")?;
    control.is("mailbox", "decoy")?;
    case.is("dam", "none")?;
    case.is("pace", "flood")?;
    case.is("kill-after", "0s")?;
    control.is_as(case, &ALIKE)?;
    let sink = case.text("sink");
    let known = SINKS.iter().find(|(name, _)| *name == sink);
    let (_, sink) = known.ok_or_else(|| format!("there is none with --sink {sink}"))?;
    let bytes = match case.one_of("message", &["byte", "small", "refc", "large"])?.as_str() {
        "byte" => 1,
        "small" => 20,
        "refc" => 70,
        _ => case.size("size")?.max(1),
    };
    let senders = case.count("senders", 1..=MOST)?;
    let messages = case.count("messages", 1..=MOST / senders)?;
    let duration_ms = case.millis("duration")?;
    Ok(vec![
        ("OTP", case.otp()?),
        ("CONTROL_FLAGS", control.flags()?),
        ("CASE_FLAGS", case.flags()?),
        ("SINK", (*sink).to_owned()),
        ("SENDERS", senders.to_string()),
        ("MESSAGES", messages.to_string()),
        ("BYTES", bytes.to_string()),
        ("WRITES", (WRITES.1 / bytes).clamp(10, WRITES.0).to_string()),
        ("MESSAGE_QUEUE_DATA", case.one_of("message-queue-data", &["on_heap", "off_heap"])?),
        ("DURATION_MS", duration_ms.to_string()),
        ("MEMORY_LIMIT", case.size("memory-limit")?.to_string()),
        ("TRIAL_MS", case.trial_ms(duration_ms)?),
    ])
}
