//! The declaration of `mailbox-flood`.

use super::params::{Dam, MailboxFloodParams, SinkKind};
use super::sentences::MailboxFloodFact;
use crate::params::{self, changed};
use model::scenario::{FixMeta, MeasureMeta, SeriesMeta};
use model::{Judging, Meta, Needs, Unit};
use std::borrow::Cow;

/// Names of series.
pub(super) mod series {
    pub const QUEUES: &str = "queues";
    pub const LENGTHS: &str = "cost_lengths";
    pub const COST: &str = "cost";
}

/// Names of the figures.
pub(super) mod measure {
    pub const SLOPE: &str = "slope";
    pub const FIT: &str = "fit";
    pub const DRAIN_RATE: &str = "drain_rate";
    pub const EMPTY_RATE: &str = "empty_rate";
    pub const OF_EMPTY: &str = "of_empty";
    pub const SERVER_HIGH: &str = "server_high";
    pub const DAM_HIGH: &str = "dam_high";
    pub const BOTH_HIGH: &str = "both_high";
    pub const WAIT_P99: &str = "wait_p99";
    pub const MEMORY: &str = "memory";
    pub const CPU: &str = "cpu";
    pub const LOST: &str = "lost";
    pub const OUT_OF_ORDER: &str = "out_of_order";
    pub const DUPLICATED: &str = "duplicated";
}

const fn figure(
    name: &'static str,
    heading: &'static str,
    unit: Unit,
    column: bool,
    help: &'static str,
) -> MeasureMeta {
    MeasureMeta { name, heading, unit, help, column }
}

/// The judged figure is the slope.
///
/// Looking at a waiting message is one step through a linked list. With the list in the nearest
/// cache, a step takes about four cycles, which is more than 1 ns on any machine. So a scan is at
/// least twice the margin. A fixed cost per message, such as that of a dam or of busy senders, is
/// divided by the number of waiting messages: half of 100,000 or more. So it reaches the margin
/// only above 25 us. A round trip through a port takes 10 or 60 us, depending on where the kernel
/// places the two processes.
const JUDGING: Judging = Judging {
    measure: Cow::Borrowed(measure::SLOPE),
    margin: 0.5,
    control_limit: 20.0,
    // Both sides of the difference are measured in one trial, and the load uses all CPUs.
    wants_cpu: false,
    error_rate: model::record::ERROR_RATE,
    confidence: 0.95,
};

/// The description of `mailbox-flood`.
pub const META: Meta = Meta {
    id: "mailbox-flood",
    title: "an Erlang process becomes slower the more messages wait for it, and never catches up",
    about: "Many processes of an Erlang node send to one server, which writes each message to a \
            sink. If the write waits for its answer in a receive that cannot tell older messages \
            from the answer, each write scans the whole mailbox. So the server is slowest when \
            most messages wait. A trial measures one write in the flood and on an empty queue. \
            Judged is the difference, divided by the number of waiting messages. In the control \
            the same flood goes to another process that never reads it, and the server's own \
            mailbox stays nearly empty. That removes the scan and the garbage collection of a heap \
            full of messages, and keeps the load, the memory and the number of messages. A fix arm \
            puts a dam in front of the server, which makes senders wait (docs/dam.md). Other fixes \
            keep the messages off the heap, or use the dam of the original (--fixes).",
    who: "Erlang and Elixir systems in which many processes send to one: log servers, metrics, \
          writers of sockets and ports, message brokers; above all after a pause of what they \
          write to",
    fixes: &[
        FixMeta {
            id: "dam",
            what: "Bound the mailbox: tailback_dam in front of the server makes senders wait, so \
                   that messages do not pile up (docs/dam.md).",
            change: |settings| {
                changed(settings, |params: &mut MailboxFloodParams| params.dam = Dam::Credit)
            },
        },
        FixMeta {
            id: "gen-server",
            what: "Move the writing into a process of its own, and call it with gen_server:call. \
                   The receive of gen_server:call skips messages older than the call.",
            change: |settings| {
                changed(settings, |params: &mut MailboxFloodParams| {
                    params.sink = SinkKind::GenServer;
                })
            },
        },
    ],
    sentence: model::fact::sentence::<MailboxFloodFact>,
    series: &[
        SeriesMeta { name: series::QUEUES, title: "messages that wait" },
        SeriesMeta { name: series::LENGTHS, title: "messages in the mailbox" },
        SeriesMeta { name: series::COST, title: "time of one write" },
    ],
    tags: &[],
    needs: Needs { cpus: 1, root: false },
    parameters: params::of::<MailboxFloodParams>(),
    measures: &[
        figure(
            measure::SLOPE,
            "a waiting message costs",
            Unit::Nanoseconds,
            true,
            "what one write takes longer in the flood than on an empty queue, over the messages \
             that wait to be written",
        ),
        figure(
            measure::FIT,
            "by length alone",
            Unit::Nanoseconds,
            true,
            "the same without a flood, from writes that were timed at several lengths of the \
             mailbox (Theil 1950, Sen 1968)",
        ),
        figure(
            measure::DRAIN_RATE,
            "writes",
            Unit::PerSecond,
            true,
            "messages that were written in the flood, in each second",
        ),
        figure(
            measure::EMPTY_RATE,
            "writes, empty queue",
            Unit::PerSecond,
            false,
            "writes in each second in a bare loop, with no server, nothing queued and nobody \
             sending",
        ),
        figure(
            measure::OF_EMPTY,
            "of empty",
            Unit::Percent,
            true,
            "rate of writes in the flood over the rate of the bare loop",
        ),
        figure(
            measure::SERVER_HIGH,
            "server's mailbox",
            Unit::Count,
            false,
            "most messages that were seen in the mailbox of the server",
        ),
        figure(
            measure::DAM_HIGH,
            "dam's or decoy's mailbox",
            Unit::Count,
            false,
            "most messages that were seen in the mailbox of the dam, or of the decoy in its place",
        ),
        figure(
            measure::BOTH_HIGH,
            "mailboxes",
            Unit::Count,
            true,
            "most messages that were seen in both mailboxes together",
        ),
        figure(
            measure::WAIT_P99,
            "sending, p99",
            Unit::Milliseconds,
            false,
            "99th percentile of the time that sending one message took",
        ),
        figure(measure::MEMORY, "memory", Unit::Bytes, false, "most memory that the VM held"),
        figure(
            measure::CPU,
            "CPU",
            Unit::MillisecondsPerSecond,
            false,
            "CPU time of the node in the flood, in each second",
        ),
        figure(
            measure::LOST,
            "lost",
            Unit::Count,
            false,
            "messages that were sent and never written; absent where the flood was cut off, since \
             then it is not known",
        ),
        figure(
            measure::OUT_OF_ORDER,
            "out of order",
            Unit::Count,
            false,
            "messages that were written behind a later one of the same sender",
        ),
        figure(
            measure::DUPLICATED,
            "twice",
            Unit::Count,
            false,
            "messages that were written again",
        ),
    ],
    judging: JUDGING,
};
