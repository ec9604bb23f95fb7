//! `compat nifwait` and `compat nifwait-collapse`, with the output of the Erlang application.

use super::exec_erlang::exec_erlang;
use super::options::{Next, Options};
use crate::exit::Failure;
use crate::session::Session;

const USAGE: &str = "Usage: nifwait [--flags FLAGS] [MODE] N W R BW
Spawns N processes; each calls native code R times for W bytes (md5) or microseconds (other modes)
and then runs a loop BW times. MODE is md5 (the default), nif_busy, nif_sleep, nif_dirty, nif_yield,
bignum or another mode of the application. FLAGS are emulator flags, such as \"+S 8:8\".
";

const COLLAPSE_USAGE: &str = "Usage: nifwait-collapse [--flags FLAGS] [short|original]
Makes eight runs with pauses, takes half of the schedulers offline, and makes a last run: did
schedulers sleep while work was queued? Exit code: 1 if they did, 0 if not, 4 if undecided.
`original` has the sizes and pauses of the original and takes many minutes; `short` is the default.
";

/// Runs `wait:run` once.
pub fn run(args: &[String], session: &Session) -> Result<u8, Failure> {
    let Some((flags, words)) = parse(args, USAGE)? else { return Ok(0) };
    if !(4..=5).contains(&words.len()) {
        return Err(
            Options::new(args, USAGE).mistake("four numbers are needed, after an optional mode")
        );
    }
    exec_erlang(&session.otps, &flags, &expression(&words))
}

/// Erlang that makes the run of these words.
fn expression(words: &[String]) -> String {
    let list: Vec<String> = words.iter().map(|word| string(word)).collect();
    let code = "case wait:run(Args) of {error, _} -> halt(2); _ -> halt(0) end.";
    format!("Args = [{}], {code}", list.join(","))
}

/// Runs the recipe that makes schedulers collapse.
pub fn collapse(args: &[String], session: &Session) -> Result<u8, Failure> {
    let Some((flags, words)) = parse(args, COLLAPSE_USAGE)? else { return Ok(0) };
    let preset = match words.as_slice() {
        [] => "short",
        [word] if ["short", "original"].contains(&word.as_str()) => word,
        _ => return Err(Options::new(args, COLLAPSE_USAGE).mistake("give short or original")),
    };
    let code = "collapse -> 1; no_collapse -> 0; inconclusive -> 4; error -> 2";
    exec_erlang(
        &session.otps,
        &flags,
        &format!(
            "Answer = wait:collapse(#{{preset => {preset}}}), \
             halt(case element(1, Answer) of {code} end)."
        ),
    )
}

/// Flags and words; None if the help was printed.
fn parse(args: &[String], usage: &'static str) -> Result<Option<(String, Vec<String>)>, Failure> {
    let mut options = Options::new(args, usage);
    let (mut flags, mut words) = (String::new(), Vec::new());
    loop {
        match options.next() {
            Next::End => return Ok(Some((flags, words))),
            Next::Help => return Ok(None),
            Next::Word("--flags") => options.text("--flags")?.clone_into(&mut flags),
            Next::Word(word) => words.push(word.to_owned()),
        }
    }
}

/// The text as an Erlang string, by its code points, so that no character can end it. None is left
/// out: `1,000` without its comma would be a number, and Erlang refuses it as the user wrote it.
fn string(text: &str) -> String {
    let points: Vec<String> = text.chars().map(|c| u32::from(c).to_string()).collect();
    format!("[{}]", points.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_of_a_word_reaches_erlang_and_none_is_code() {
        let words = ["1,0", "\"\\", "\u{e9}", ""].map(str::to_owned);
        let expression = expression(&words);
        let args = "Args = [[49,44,48],[34,92],[233],[]], case";
        assert!(expression.starts_with(args), "{expression}");
    }
}
