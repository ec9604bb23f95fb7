//! `compat msgq-flood` and `compat msgq-flood-profile`: flood a log server, and watch or profile
//! it.

use super::exec_erlang::exec_erlang;
use super::options::{Next, Options};
use crate::exit::Failure;
use crate::session::Session;
use scenarios::mailbox_flood::{Dam, SinkKind};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

const USAGE: &str = "\
Usage: msgq-flood [--sink SINK] [--dam DAM] [--lines N] [--flags FLAGS] FILE SENDERS MESSAGES
SENDERS processes send MESSAGES messages each to a log server, which appends them to FILE. Each
second, a line shows how many messages wait in the mailboxes of the dam and of the server: until
Ctrl-C, or N lines. With --dam threshold (the dam of the original) or credit, the messages are sent
to that dam. SINK replaces FILE: port, tag, tcp, udp, gen-server, null or none. Since OTP 21, a file
no longer shows the collapse, but port does.
";

const PROFILE_USAGE: &str = "\
Usage: msgq-flood-profile [--sink SINK] [--queued N] [--for MS] [--flags FLAGS]
Profiles a log server with N messages in its mailbox (50000) for MS milliseconds (2000). Prints the
table of tprof from OTP 27 on, of eprof before. These profilers charge the time in which a receive
scans the mailbox to the traced function that ran last. A second table shows where a sampler found
the server; a sampler does not have this error. SINK is port (the default), tag, tcp, udp,
gen-server, null or none.
";

/// The known sinks.
const SINKS: [SinkKind; 7] = [
    SinkKind::Port,
    SinkKind::Tag,
    SinkKind::Tcp,
    SinkKind::Udp,
    SinkKind::GenServer,
    SinkKind::Null,
    SinkKind::None,
];

/// Makes Ctrl-C end the VM without a menu.
const ENDS_ON_CTRL_C: &str = "+Bd";

/// Ends the VM after an error, with one line and the exit code of bad input.
const COMPLAIN: &str = "\
    Complain = fun(Line, Code) -> io:put_chars(standard_error, [Line, 10]), halt(Code) end, ";

/// Floods a server and shows its queues.
pub fn run(args: &[String], session: &Session) -> Result<u8, Failure> {
    let mut options = Options::new(args, USAGE);
    let (mut flags, mut sink, mut dam, mut lines) = (String::new(), None, None, None);
    let mut words: Vec<&str> = Vec::new();
    loop {
        match options.next() {
            Next::End => break,
            Next::Help => return Ok(0),
            Next::Word("--flags") => options.text("--flags")?.clone_into(&mut flags),
            Next::Word("--sink") => sink = Some(known_sink(&mut options)?),
            Next::Word("--dam") => dam = Some(known_dam(&mut options)?),
            Next::Word("--lines") => lines = Some(options.number("--lines", 1 << 31)?.max(1)),
            Next::Word(word) if word.starts_with("--") => return Err(options.unknown(word)),
            Next::Word(word) => words.push(word),
        }
    }
    let [file, senders, messages] = words.as_slice() else {
        return Err(
            options.mistake("a file, a number of senders and a number of messages are needed")
        );
    };
    let number = |text: &str| match text.parse::<u64>() {
        Ok(number) => Ok(number),
        Err(_) => Err(options.mistake(&format!("Error: {text} non-numeric."))),
    };
    let flood = Flood { sink, dam, lines, senders: number(senders)?, messages: number(messages)? };
    exec_erlang(&session.otps, &format!("{ENDS_ON_CTRL_C} {flags}"), &flood.expression(file))
}

/// A flood with a view of the queues.
struct Flood {
    sink: Option<SinkKind>,
    dam: Option<Dam>,
    lines: Option<u64>,
    senders: u64,
    messages: u64,
}

impl Flood {
    fn expression(&self, file: &str) -> String {
        let sink = self.sink.map(|sink| format!("sink => {}, ", sink.atom())).unwrap_or_default();
        let (dam, flood) = match self.dam {
            Some(dam) => (dam, "flood_to_dam"),
            None => (Dam::None, "flood_direct"),
        };
        let watch = self.lines.map_or_else(String::new, |lines| lines.to_string());
        format!(
            "{COMPLAIN}case msgq_flood:start_link({}, #{{{sink}dam => {dam}}}) of \
             {{ok, _}} -> ok; {{error, {{_, No}}}} -> Complain(No, 2) end, \
             case msgq_flood:{flood}({}, {}) of \
             ok -> ok; {{error, {{_, Bad}}}} -> Complain(Bad, 2) end, \
             msgq_flood:watch({watch}), halt(0).",
            binary(file),
            self.senders,
            self.messages
        )
    }
}

/// Profiles a flooded server.
pub fn profile(args: &[String], session: &Session) -> Result<u8, Failure> {
    let mut options = Options::new(args, PROFILE_USAGE);
    let (mut flags, mut sink, mut queued, mut ms) = (String::new(), SinkKind::Port, 50_000, 2000);
    loop {
        match options.next() {
            Next::End => break,
            Next::Help => return Ok(0),
            Next::Word("--flags") => options.text("--flags")?.clone_into(&mut flags),
            Next::Word("--sink") => sink = known_sink(&mut options)?,
            Next::Word("--queued") => queued = options.number("--queued", 1_000_000)?,
            Next::Word("--for") => ms = options.number("--for", 600_000)?.max(1),
            Next::Word(word) => return Err(options.unknown(word)),
        }
    }
    let sink = sink.atom();
    let expression = format!(
        "{COMPLAIN}case msgq_flood:profile(#{{sink => {sink}, queued => {queued}, for_ms => {ms}}}) of \
         {{ok, _}} -> ok; {{error, {{no_profiler, Need}}}} -> Complain(Need, 3); \
         {{error, {{_, No}}}} -> Complain(No, 2) end, \
         case msgq_flood:cost(#{{sink => {sink}, lengths => [{queued}], ops => 1, \
         sample_for_ms => 500}}) of \
         {{ok, #{{functions := [{{_, Seen}} | _]}}}} -> \
         All = lists:sum([N || {{_, N}} <- Seen]), \
         io:put_chars([10, \"Seen by a sampler, in so many of so many looks:\", 10]), \
         [io:format(\"~tw:~tw/~b  ~b of ~b~n\", [M, F, A, N, All]) || {{{{M, F, A}}, N}} <- Seen], \
         halt(0); {{error, {{_, Bad}}}} -> Complain(Bad, 2) end."
    );
    exec_erlang(&session.otps, &format!("{ENDS_ON_CTRL_C} {flags}"), &expression)
}

fn known_sink(options: &mut Options) -> Result<SinkKind, Failure> {
    let word = options.text("--sink")?;
    match SINKS.into_iter().find(|sink| sink.to_string() == word) {
        Some(sink) => Ok(sink),
        None => {
            let names = SINKS.map(|sink| sink.to_string()).join(", ");
            Err(options.mistake(&format!("Error: --sink {word} is none of {names}.")))
        }
    }
}

fn known_dam(options: &mut Options) -> Result<Dam, Failure> {
    let word = options.text("--dam")?;
    match word.parse() {
        Ok(dam @ (Dam::Threshold | Dam::Credit)) => Ok(dam),
        Ok(Dam::None) | Err(_) => {
            Err(options.mistake(&format!("Error: --dam {word} is neither threshold nor credit.")))
        }
    }
}

/// The text as an Erlang binary, byte by byte, so that no character can end a string.
fn binary(text: &str) -> String {
    let bytes: Vec<String> = OsStr::new(text).as_bytes().iter().map(u8::to_string).collect();
    format!("<<{}>>", bytes.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_path_is_erlang() {
        assert_eq!(binary("a\"."), "<<97,34,46>>");
        assert_eq!(binary(""), "<<>>");
        let flood = Flood {
            sink: Some(SinkKind::Port),
            dam: None,
            lines: Some(3),
            senders: 2,
            messages: 9,
        };
        let expression = flood.expression("x\"), halt(9");
        assert!(!expression.contains("halt(9"), "{expression}");
        assert!(expression.contains("flood_direct(2, 9)") && expression.contains("watch(3)"));
    }
}
