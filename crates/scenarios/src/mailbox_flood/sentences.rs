//! The sentences of `mailbox-flood`.

use model::Sentence;

/// Their names.
pub(super) mod say {
    pub const SLOWER: &str = "slower";
    pub const NOT_SLOWER: &str = "not-slower";
    pub const UNSETTLED: &str = "unsettled";
    pub const TOO_FEW: &str = "too-few-messages";
    pub const MORE: &str = "more-messages";
    pub const NOT_THE_LENGTH: &str = "not-the-length";
    pub const COLLECTIONS: &str = "collections";
    pub const CLOSER: &str = "closer-interval";
    pub const SCAN: &str = "scan";
    pub const KILLED: &str = "killed";
    pub const KILLED_CUT_OFF: &str = "killed-cut-off";
    pub const RESTARTED: &str = "server-restarted";
    pub const OTHER_SINK: &str = "other-sink";
    pub const OFF_HEAP: &str = "off-heap";
    pub const THRESHOLD: &str = "threshold";
    pub const CREDIT: &str = "credit";
    pub const QUEUES: &str = "queues";
    pub const LENGTHS: &str = "cost_lengths";
    pub const COST: &str = "cost";
    pub const NOTHING_TO_DAM: &str = "nothing-to-dam";
    pub const ONLY_A_DECOY: &str = "only-a-decoy";
    pub const TOO_MANY: &str = "too-many-messages";
    pub const FILE_TOO_LARGE: &str = "file-too-large";
    pub const WRITES_FAILED: &str = "writes-failed";
    pub const NO_FOLDER: &str = "no-folder";
}

/// The sentences.
pub(super) const SENTENCES: &[Sentence] = &[
    Sentence {
        id: say::SLOWER,
        text: "Each message that waits makes every write to the sink {{ sink }} slower here\
               {% if slope %}, by {{ slope }}{% endif %}{% if queued %}; with 100,000 queued a \
               write takes {{ queued }} instead of {{ empty }}{% endif %}.{% if writes %} Flooded, \
               the server wrote {{ writes }}{% if control %}; with the same flood in another \
               process, {{ control }}{% endif %}.{% endif %}",
    },
    Sentence {
        id: say::NOT_SLOWER,
        text: "A long mailbox does not make writes to the sink {{ sink }} slower here{% if slope %}: \
               each message that waits adds {{ slope }}{% endif %}{% if writes %}; the flood was \
               written at {{ writes }}{% endif %}.",
    },
    Sentence {
        id: say::UNSETTLED,
        text: "It is not settled whether a long mailbox makes its owner slower here.",
    },
    Sentence {
        id: say::TOO_FEW,
        text: "{{ messages|count('message') }} in all: too few to tell a cost of each message that \
               waits from the cost of the write itself.",
    },
    Sentence { id: say::MORE, text: "Send {{ least|count('message') }} or more in all." },
    Sentence {
        id: say::NOT_THE_LENGTH,
        text: "Writes were slow in the flood, but writes that were timed at several lengths of the \
               mailbox were not shown to take longer the longer it is, so no receive is shown to \
               look through the queue. Collections of a heap that holds the messages, or senders \
               that take the CPU, make writes slow as well.",
    },
    Sentence {
        id: say::COLLECTIONS,
        text: "Keep the messages off the heap, to see what collections cost.",
    },
    Sentence {
        id: say::CLOSER,
        text: "More blocks on a quieter machine give a closer interval, as by --samples 12.",
    },
    Sentence {
        id: say::SCAN,
        text: "With {{ longest|count('message') }} in its mailbox the process that writes was seen \
               in {{ place }} in {{ seen }} of {{ samples|count('sample') }}: the receive there \
               cannot tell that older messages are no answer, and looks at each of them every time.",
    },
    Sentence {
        id: say::KILLED,
        text: "{{ arm }}, whose server was killed during the flood: in the median trial \
               {{ lost|figure }} of {{ messages|count('message') }} were lost, and \
               {{ twice|figure }} were written twice.",
    },
    Sentence {
        id: say::KILLED_CUT_OFF,
        text: "{{ arm }}, whose server was killed during the flood: the flood was cut off, so lost \
               messages could not be counted (a longer --duration counts them); in the median trial \
               {{ twice|figure }} messages were written twice.",
    },
    Sentence { id: say::RESTARTED, text: "The server was killed and started again." },
    Sentence { id: say::OTHER_SINK, text: "Try a sink whose writes look through the mailbox." },
    Sentence {
        id: say::OFF_HEAP,
        text: "process_flag(message_queue_data, off_heap) in the server",
    },
    Sentence {
        id: say::THRESHOLD,
        text: "the original's dam in front of the server, which pauses at 10,000 messages",
    },
    Sentence { id: say::CREDIT, text: "tailback_dam in front of the server" },
    Sentence { id: say::QUEUES, text: "messages that wait" },
    Sentence { id: say::LENGTHS, text: "messages in the mailbox" },
    Sentence { id: say::COST, text: "time of one write" },
    Sentence {
        id: say::NOTHING_TO_DAM,
        text: "--pace one-at-a-time leaves nothing for a dam to do: leave out --dam, or flood it",
    },
    Sentence {
        id: say::ONLY_A_DECOY,
        text: "--mailbox decoy leaves the server's mailbox empty: leave out --pace, --dam and --kill-after",
    },
    Sentence {
        id: say::TOO_MANY,
        text: "{{ offered }} messages in all are more than {{ most }}: take fewer --senders or --messages",
    },
    Sentence {
        id: say::FILE_TOO_LARGE,
        text: "{{ offered }} messages of {{ bytes }} bytes may fill a file with more than 1 GiB; send \
               fewer or smaller ones",
    },
    Sentence {
        id: say::WRITES_FAILED,
        text: "{{ failed }} of {{ writes }} writes to the sink {{ sink }} failed ({% if error %}{{ error }}\
               {% else %}it is not known why{% endif %}); make room there or take another --sink",
    },
    Sentence {
        id: say::NO_FOLDER,
        text: "--folder {{ folder }}: {{ error }}; name a folder that can be written to: --folder FOLDER",
    },
];
