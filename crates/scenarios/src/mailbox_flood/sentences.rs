//! The facts of `mailbox-flood` and their sentences.

use model::prose::figures::plural;
use model::{Amount, Estimate, Name, Sentence};
use serde::{Deserialize, Serialize};

/// The facts that only this scenario reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "id", content = "values", rename_all = "kebab-case")]
pub(super) enum MailboxFloodFact {
    Slower(Box<Slower>),
    NotSlower { sink: Name, slope: Option<Estimate>, writes: Option<Estimate> },
    NotSlowerWith { arm: Name, sink: Name, writes: Option<Estimate> },
    Unsettled,
    TooFewMessages { messages: u64 },
    MoreMessages { least: u64 },
    NotTheLength { arm: Name },
    FewWaited { arm: Name, longest: Estimate, offered: u64 },
    FloodDirectly,
    Collections,
    CloserInterval,
    NeverTwo { arm: Name },
    Flood,
    LengthCosts { arm: Name, fit: Estimate },
    ShortQueue { arm: Name, longest: Estimate, offered: u64 },
    LongerQueue,
    LargerFlood,
    NothingSent { arm: Name },
    SoonerSent,
    Scan { longest: u64, place: Name, seen: u64, samples: u64 },
    Killed { arm: Name, lost: Estimate, messages: u64, twice: Estimate },
    KilledCutOff { arm: Name, twice: Estimate },
    ServerRestarted,
    OtherSink,
    OffHeap,
    Threshold,
    Credit,
    NothingToDam,
    OnlyADecoy,
    KilledTooLate { kill_after: Name, duration: Name },
    TooManyMessages { offered: u64, most: u64 },
    FileTooLarge { offered: u64, bytes: u64 },
    WritesFailed { failed: u64, writes: u64, sink: Name, error: Option<Name> },
    NoFolder { folder: Name, error: Name },
}

/// The cost of the mailbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Slower {
    pub sink: Name,
    /// The slope in the flood: the judged figure.
    pub slope: Option<Estimate>,
    /// The slope at set lengths of the mailbox, where nothing else differs.
    pub by_length: Option<Estimate>,
    pub queued: Option<Amount>,
    pub empty: Option<Amount>,
    pub writes: Option<Estimate>,
    pub control: Option<Estimate>,
}

impl Sentence for MailboxFloodFact {
    fn sentence(&self) -> String {
        use MailboxFloodFact as F;
        match self {
            F::Slower(cost) => slower(cost),
            F::NotSlower { sink, slope, writes } => {
                let slope = slope
                    .as_ref()
                    .map(|slope| format!(": each message in the mailbox adds {slope} to a write"));
                let writes = writes.as_ref();
                let writes = writes.map(|writes| format!("; the flood was written at {writes}"));
                format!(
                    "A long mailbox does not make writes to the sink {sink} slower here{}{}.",
                    slope.unwrap_or_default(),
                    writes.unwrap_or_default()
                )
            }
            F::NotSlowerWith { arm, sink, writes } => {
                let writes = writes.as_ref();
                let writes = writes.map(|writes| format!("; it was written at {writes}"));
                format!(
                    "With {arm} the flood does not make writes to the sink {sink} slower here{}.",
                    writes.unwrap_or_default()
                )
            }
            F::Unsettled => {
                "It is not settled whether a long mailbox makes its owner slower here.".into()
            }
            F::TooFewMessages { messages } => format!(
                "{} in all are too few: the cost of each message in the mailbox does not stand out \
                 from the cost of the write itself.",
                plural(*messages, "message")
            ),
            F::MoreMessages { least } => {
                format!("Send {} or more in all.", plural(*least, "message"))
            }
            F::NotTheLength { arm } => format!(
                "Writes were slow in the flood of {arm}. Tests at several lengths of the mailbox \
                 did not show that writes take longer as the mailbox grows, so they do not show a \
                 receive that scans it. Garbage collection of a heap that holds the messages, or \
                 senders that take the CPU, also make writes slow."
            ),
            F::FewWaited { arm, longest, offered } => format!(
                "In {arm} writes were slow. But no more than {longest:#} of {} waited in the \
                 mailbox of the server, in the median trial. So this does not show what a long \
                 mailbox costs.",
                plural(*offered, "message")
            ),
            F::FloodDirectly => "Leave out --dam, so that the messages wait for the server.".into(),
            F::Collections => {
                "Keep the messages off the heap, to see what garbage collection costs.".into()
            }
            F::CloserInterval => {
                "More blocks on a quieter machine give a narrower interval, for example with \
                 --samples 12."
                    .into()
            }
            F::NeverTwo { arm } => format!(
                "In {arm} each message was sent after the previous one was written, so two \
                 messages never waited together. This does not show what a long mailbox costs."
            ),
            F::Flood => "Use --pace flood.".into(),
            F::LengthCosts { arm, fit } => format!(
                "In {arm} the flood did not make writes slower. But at several lengths of the \
                 mailbox, each message in it added {fit} to a write."
            ),
            F::ShortQueue { arm, longest, offered } => format!(
                "In {arm} no more than {longest:#} of {} waited at the same time, in the median \
                 trial. What a write takes longer is divided by all messages that were to be \
                 sent, so the cost of each message in the mailbox may look too small.",
                plural(*offered, "message")
            ),
            F::LongerQueue => {
                "If the trial ended before all messages were sent, use fewer --messages or a \
                 longer --duration; else use more --senders. At least half of the messages should \
                 wait at the same time."
                    .into()
            }
            F::LargerFlood => "Use more --messages, so that the cost of each adds up.".into(),
            F::NothingSent { arm } => format!(
                "In {arm} the flood did not reach the server before the trial ended: no message \
                 was seen in its mailbox and none was written, in the median trial."
            ),
            F::SoonerSent => "Use fewer --senders or a longer --duration.".into(),
            F::Scan { longest, place, seen, samples } => format!(
                "With {} in its mailbox, the process that writes was seen in {place} in {seen} of \
                 {}: the receive there looks at every older message each time, since any of them \
                 could be the answer.",
                plural(*longest, "message"),
                plural(*samples, "sample")
            ),
            F::Killed { arm, lost, messages, twice } => format!(
                "The server of {arm} was killed during the flood. In the median trial {lost:#} of \
                 {} were lost, and {twice:#} were written twice.",
                plural(*messages, "message")
            ),
            F::KilledCutOff { arm, twice } => format!(
                "The server of {arm} was killed during the flood, and the flood was cut off, so \
                 lost messages could not be counted; a longer --duration counts them. In the \
                 median trial {twice:#} messages were written twice."
            ),
            F::ServerRestarted => "The server was killed and started again.".into(),
            F::OtherSink => "Try a sink whose writes search the mailbox.".into(),
            F::OffHeap => "process_flag(message_queue_data, off_heap) in the server".into(),
            F::Threshold => {
                "tailback_dam_threshold in front of the server (it pauses at 10,000 messages)"
                    .into()
            }
            F::Credit => "tailback_dam in front of the server".into(),
            F::NothingToDam => {
                "--pace one-at-a-time leaves nothing for a dam to do: leave out --dam, or flood \
                 the server"
                    .into()
            }
            F::OnlyADecoy => {
                "--mailbox decoy leaves the server's mailbox empty: leave out --pace, --dam and \
                 --kill-after"
                    .into()
            }
            F::KilledTooLate { kill_after, duration } => format!(
                "--kill-after {kill_after}: the flood ends before that, after the --duration of \
                 {duration}; take a shorter --kill-after or a longer --duration"
            ),
            F::TooManyMessages { offered, most } => format!(
                "{offered} messages in all are more than {most}: lower --senders or --messages"
            ),
            F::FileTooLarge { offered, bytes } => format!(
                "{offered} messages of {bytes} bytes may fill a file with more than 1 GiB; send \
                 fewer or smaller messages"
            ),
            F::WritesFailed { failed, writes, sink, error } => {
                let why = error
                    .as_ref()
                    .map_or("for an unknown reason".into(), |error| format!("({error})"));
                // Erlang's words for ENOSPC and EDQUOT. The names are in older records.
                let full = ["no space left", "disk quota exceeded", "enospc", "edquot"];
                let is_full = |error: &Name| full.iter().any(|word| error.0.contains(*word));
                let advice = match error.as_ref().is_some_and(is_full) {
                    true => "free some space there or use another --sink",
                    false => "use another --sink",
                };
                format!("{failed} of {writes} writes to the sink {sink} failed {why}; {advice}")
            }
            F::NoFolder { folder, error } => format!(
                "--folder {folder}: {error}; name a folder that can be written to: --folder FOLDER"
            ),
        }
    }
}

fn slower(cost: &Slower) -> String {
    let sink = &cost.sink;
    let slope = cost.slope.as_ref().map(|slope| {
        let alone = cost.by_length.as_ref();
        let alone = alone.map(|alone| format!(", and by {alone} where only the length differs"));
        format!(", by {slope} in a flood{}", alone.unwrap_or_default())
    });
    let slope = slope.unwrap_or_default();
    let queued = cost.queued.zip(cost.empty).map(|(queued, empty)| {
        format!("; with 100,000 messages queued, a write takes {queued} instead of {empty}")
    });
    let flooded = cost.writes.as_ref().map(|writes| {
        let control = cost.control.as_ref();
        let control =
            control.map(|rate| format!(", and {rate} with the flood sent to another process"));
        format!(" In the flood the server wrote {writes}{}.", control.unwrap_or_default())
    });
    format!(
        "Each message in the mailbox makes every write to the sink {sink} slower here{slope}{}.{}",
        queued.unwrap_or_default(),
        flooded.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_server_shows_whether_the_disk_is_full() {
        let advice = |error: &str| {
            let sink = "file".into();
            let error = Some(error.into());
            MailboxFloodFact::WritesFailed { failed: 3, writes: 9, sink, error }.sentence()
        };
        for why in ["no space left on device", "disk quota exceeded"] {
            let sentence = advice(&format!("file write: /tmp/a: {why}; make room"));
            let room = "; free some space there or use another --sink";
            assert!(sentence.ends_with(room), "{sentence}");
        }
        let sentence = advice("port write: cat: no answer in time");
        assert!(sentence.ends_with("); use another --sink"), "{sentence}");
    }
}
