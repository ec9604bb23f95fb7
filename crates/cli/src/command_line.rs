//! The command line: everything around the flags. The commands declare the flags themselves.

use crate::command::{VERDICT, below};
use crate::commands::Commands;
use clap::{Args, Command, CommandFactory, Parser};
use std::ffi::OsString;
use std::fmt::Write as _;

/// The first command of each group, and the heading of the group. Commands are shown in the order
/// of the list. Hidden commands and commands before the first group are not shown.
const GROUPS: [(&str, &str); 6] = [
    ("watch", "See what is stalled now"),
    ("check", "Provoke stalls and judge"),
    ("judge", "Read records"),
    ("census", "Many machines"),
    ("matrix", "Other kernels and OTPs"),
    ("sim", "Less often"),
];

/// The command that starts a load process.
const LOAD: &str = "load";

/// Finds out why ready work stands still.
///
/// Provokes a scheduling stall in seconds, measures it, gives a verdict with an interval, and says
/// what fixes it.
#[derive(Parser)]
#[command(name = "tailback", version)]
#[command(after_help = below(VERDICT, ["sudo tailback watch --for 30s", "tailback check"]))]
pub struct CommandLine {
    #[command(subcommand)]
    command: Option<Commands>,
}

/// The clap declaration of the whole command line.
pub fn command() -> Command {
    let command = CommandLine::command();
    let template = template(&command);
    command.help_template(template)
}

/// Parses a line of words. The first word is the name of the program. None if no other word is
/// there.
///
/// # Errors
/// If the line is no command, or asks for help.
pub fn parse<W: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = W>,
) -> Result<Option<Commands>, clap::Error> {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let is_load = words.get(1).is_some_and(|word| word == LOAD);
    let mut command = if is_load { load_alone() } else { command() };
    let parsed = command.try_get_matches_from_mut(words).and_then(|mut matches| {
        <CommandLine as clap::FromArgMatches>::from_arg_matches_mut(&mut matches)
    });
    parsed.map(|line| line.command).map_err(|error| error.format(&mut command))
}

/// The command line with the flags of a load process alone. A study starts hundreds of them, and
/// the flags of all commands would take most of their start.
fn load_alone() -> Command {
    let load = ::load::Load::augment_args(Command::new(LOAD));
    Command::new(env!("CARGO_PKG_NAME")).subcommand(load)
}

/// The help template of the program itself, since clap cannot group commands.
fn template(command: &Command) -> String {
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    let shown = || command.get_subcommands().filter(|one| !one.is_hide_set());
    let width = shown().map(|one| one.get_name().len()).max().unwrap_or_default();
    for one in shown() {
        if let Some((_, heading)) = GROUPS.iter().find(|(first, _)| *first == one.get_name()) {
            let _ = write!(text, "\n{heading}:\n");
        }
        let about = one.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "  {:width$}  {about}", one.get_name());
    }
    text + "\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    /// This command and all its subcommands, except the original programs. Those have their own
    /// help.
    fn all(command: &Command) -> Vec<&Command> {
        let below = command.get_subcommands().filter(|one| !one.is_hide_set());
        let below = below.filter(|_| command.get_name() != "compat");
        std::iter::once(command).chain(below.flat_map(all)).collect()
    }

    #[test]
    fn each_help_ends_with_two_examples_that_the_parser_takes() {
        for leaf in all(&command()) {
            let name = leaf.get_name();
            let text = leaf.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) = text.rsplit_once("Examples:\n").expect(name);
            assert_eq!(examples.lines().count(), 2, "{name}: {examples}");
            for example in examples.lines() {
                let words = example.split_whitespace().skip_while(|word| *word == "sudo");
                let words: Vec<&str> = words.take_while(|word| !">|".contains(word)).collect();
                if let Err(error) = parse(&words) {
                    panic!("{example}: {error}");
                }
            }
        }
    }

    #[test]
    fn a_load_process_has_the_same_flags_alone() {
        let whole = command();
        let alone = load_alone();
        let flags = |command: &Command| {
            let load = command.find_subcommand(LOAD).unwrap().clone();
            load.get_arguments().map(|flag| format!("{flag:?}")).collect::<Vec<_>>()
        };
        assert_eq!(flags(&alone), flags(&whole));
        let parsed = parse(["tailback", LOAD, "spinner", "--pid", "1"]).unwrap();
        assert!(matches!(parsed, Some(Commands::Load(_))));
    }

    #[test]
    fn every_group_begins_with_a_command_that_is_shown() {
        let command = command();
        let shown: Vec<&str> = command
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(Command::get_name)
            .collect();
        assert_eq!(shown[0], GROUPS[0].0);
        assert!(GROUPS.iter().all(|(first, _)| shown.contains(first)), "{shown:?}");
    }
}
