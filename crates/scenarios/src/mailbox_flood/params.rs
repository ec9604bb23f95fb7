//! The parameters of `mailbox-flood`.

use crate::params::{
    self, Auto, ErlFlags, Folder, List, Programs, Size, Time, between, choice, whole,
};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// The parameters of `mailbox-flood`.
#[derive(Debug, Clone, PartialEq, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct MailboxFloodParams {
    /// What the server writes each message to
    #[arg(long, default_value = "port")]
    pub sink: SinkKind,
    /// Folder for the file of a file sink. The file has no name, and nothing is left of it
    #[arg(long, default_value = "auto")]
    pub folder: Auto<Folder>,
    /// Number of processes that send
    #[arg(long, default_value = "100", value_parser = whole(1_u32..=200_000))]
    pub senders: u32,
    /// Number of messages that each of them sends
    #[arg(long, default_value = "1000", value_parser = whole(1_u32..=10_000_000))]
    pub messages: u32,
    /// Content of a message
    #[arg(long, default_value = "small")]
    pub message: Message,
    /// Bytes of a large message
    #[arg(long, default_value = "1KiB", value_parser = between(Size::bytes(1)..=Size::mib(64)))]
    pub size: Size,
    /// Where the server keeps waiting messages
    #[arg(long, default_value = "on_heap")]
    pub message_queue_data: QueueData,
    /// Process in whose mailbox the messages wait, in the arm with the cause
    #[arg(long, default_value = "server")]
    pub mailbox: Mailbox,
    /// What stands in front of the server in the arm with the cause
    #[arg(long, default_value = "none")]
    pub dam: Dam,
    /// How the senders send
    #[arg(long, default_value = "flood")]
    pub pace: Pace,
    /// Fixes to try, separated by semicolons, each in an arm of its own: off_heap, or a dam
    #[arg(long, default_value = "credit")]
    pub fixes: List<FloodFix>,
    /// Kill and restart the server this long after the flood began. 0s: never
    #[arg(long, default_value = "0s", value_parser = between(Time::ZERO..=Time::s(3600)))]
    pub kill_after: Time,
    /// End the flood of a trial after this time
    #[arg(long, default_value = "150ms", value_parser = between(Time::ms(50)..=Time::s(3600)))]
    pub duration: Time,
    /// End the study if a node uses more memory than this
    #[arg(long, default_value = "512MiB", value_parser = between(Size::mib(64)..=Size::tib(1)))]
    pub memory_limit: Size,
    /// Emulator flags of every arm: "+S 4:4"
    #[arg(long, default_value = "")]
    pub flags: ErlFlags,
    /// OTP: debian:SUITE (fetched once), an erl, or the folder of an installation. auto: the erl on
    /// the PATH. Several, separated by commas, become arms
    #[arg(long, alias = "erl", default_value = "auto")]
    #[serde(alias = "erl")]
    pub otp: Programs,
}

impl Default for MailboxFloodParams {
    fn default() -> Self {
        params::defaults(false)
    }
}

/// What the server writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SinkKind {
    /// A port program that answers in packets
    Port,
    /// A port program that answers in lines
    PortLine,
    /// An echo process; its answers have a plain tag
    Tag,
    /// A TCP socket by the inet driver
    Tcp,
    /// A TCP socket by the socket module
    TcpSocket,
    /// A UDP socket
    Udp,
    /// A call to a gen_server
    GenServer,
    /// A file, opened to append, raw, with delayed writes
    File,
    /// A file, opened to append, raw
    FileRaw,
    /// A file, opened to append
    FileAppend,
    /// A file, opened to append, with delayed writes
    FileDelayed,
    /// /dev/null
    Null,
    /// Nothing at all
    None,
}

/// The content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Message {
    /// 1 byte
    Byte,
    /// 20 bytes
    Small,
    /// A reference-counted binary of 70 bytes
    Refc,
    /// The number of bytes in --size
    Large,
}

/// Where a process keeps its waiting messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum QueueData {
    /// On its heap
    OnHeap,
    /// Off its heap
    OffHeap,
}

/// The process in whose mailbox the messages wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mailbox {
    /// The server's mailbox
    Server,
    /// The mailbox of a process that never looks at it
    Decoy,
}

/// The dam between senders and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dam {
    /// Nothing
    None,
    /// The dam of the original program, which pauses at 10,000 messages
    Threshold,
    /// tailback_dam, which gives credit
    Credit,
}

/// How the senders send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pace {
    /// All messages at once
    Flood,
    /// One message after the previous one was handled
    OneAtATime,
}

/// A fix to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum FloodFix {
    /// Keep messages off the heap of the server
    OffHeap,
    /// The dam of the original program
    Threshold,
    /// tailback_dam
    Credit,
}

choice!(SinkKind, Message, QueueData, Mailbox, Dam, Pace, FloodFix);

impl SinkKind {
    /// The options for opening its file. None if the sink is not a file.
    pub(super) fn file_options(self) -> Option<&'static [&'static str]> {
        Some(match self {
            SinkKind::File => &["append", "raw", "delayed_write"],
            SinkKind::FileRaw => &["append", "raw"],
            SinkKind::FileAppend => &["append"],
            SinkKind::FileDelayed => &["append", "delayed_write"],
            _ => return None,
        })
    }

    /// Whether the sink is a file.
    pub(super) fn is_file(self) -> bool {
        self.file_options().is_some()
    }

    /// Whether its writes search the mailbox in every supported OTP.
    pub(super) fn searches_mailbox(self) -> bool {
        matches!(self, SinkKind::Port | SinkKind::PortLine | SinkKind::Tag)
    }

    /// Its name in the Erlang application. Only for sinks that need nothing but a name.
    pub fn atom(self) -> String {
        self.to_string().replace('-', "_")
    }
}
