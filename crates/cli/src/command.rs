//! The parts that every command has: its action, the text below its help, and its registration.

pub use crate::exit::Failure;
pub use crate::session::Session;
use model::units;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Exit codes of commands that give a verdict.
pub const VERDICT: &str = "  0    no stall; the report says which stall would have shown\n  1    \
    affected\n  2    bad usage or input\n  3    a need is missing: CPUs, a privilege, free disk \
    space\n  4    inconclusive or untrustworthy\n  130  interrupted; the partial record is kept";

/// The action of a command.
pub trait Run {
    /// Runs the command and returns the exit code.
    ///
    /// # Errors
    /// The error line that ends the program.
    fn run(&self, session: &Session) -> Result<u8, Failure>;

    /// The name that other runs see as the load on this machine. None if the command neither
    /// loads nor changes the machine.
    fn load(&self) -> Option<String> {
        None
    }

    /// Checks what the command writes, before anything is read. A missing folder is made here,
    /// since the command is then restricted to folders that exist.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn prepare(&self, _session: &Session) -> Result<(), Failure> {
        Ok(())
    }

    /// The result of a command that may not run, since another run loads this machine.
    ///
    /// # Errors
    /// The failure, unless the command prints it in the format of its output.
    fn refused(&self, _session: &Session, failure: Failure) -> Result<u8, Failure> {
        Err(failure)
    }

    /// The files that the command writes. None unless it only reads what others wrote and runs
    /// nothing.
    fn writes(&self) -> Option<Vec<&Path>> {
        None
    }

    /// The longest random time to wait before it begins.
    fn jitter(&self) -> Option<Duration> {
        None
    }
}

/// Makes each command a variant of an enum. Each takes one line.
macro_rules! commands {
    ($(#[$of_all:meta])* $all:ident {
        $($(#[$of_one:meta])* $name:ident: $($command:ident)::+,)*
    }) => {
        #[derive(clap::Subcommand)]
        $(#[$of_all])*
        #[allow(clippy::large_enum_variant, reason = "there is one value, and it is never moved")]
        pub enum $all {
            $(
                #[allow(missing_docs, reason = "each command has its own")]
                $(#[$of_one])*
                $name($($command)::+),
            )*
        }

        impl $all {
            /// The chosen command with its flags.
            fn command(&self) -> &dyn $crate::command::Run {
                match self {
                    $($all::$name(command) => command,)*
                }
            }
        }
    };
}

/// Like `commands!`, for the subcommands of a command that only runs them.
macro_rules! commands_below {
    ($(#[$of_all:meta])* $all:ident $commands:tt) => {
        $crate::command::commands! { $(#[$of_all])* $all $commands }

        impl $crate::command::Run for $all {
            fn run(
                &self,
                session: &$crate::session::Session,
            ) -> Result<u8, $crate::exit::Failure> {
                self.command().run(session)
            }
        }
    };
}

pub(crate) use {commands, commands_below};

/// The text below the flags of a command: its exit codes, and its most common calls.
pub fn below<const N: usize>(codes: &str, examples: [&str; N]) -> String {
    let mut text = match codes {
        "" => String::new(),
        codes => format!("Exit codes:\n{codes}\n\n"),
    };
    text.push_str("Examples:");
    for example in examples {
        let _ = write!(text, "\n  {example}");
    }
    text
}

/// The first line of the error message about a command line.
pub fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("wrong options");
    line.trim_start_matches("error: ").to_owned()
}

/// Reads a duration that is longer than zero.
///
/// # Errors
/// A sentence that says what is wrong with `text`.
pub fn parse_some_time(text: &str) -> Result<Duration, String> {
    let time = units::parse_duration(text)?;
    if time.is_zero() {
        return Err(format!("`{text}` is no time; write a time above zero, as in 300ms or 2s"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_refused_where_some_time_is_needed() {
        assert_eq!(parse_some_time("0.3s"), Ok(Duration::from_millis(300)));
        for zero in ["0", "0s", "0.0ms"] {
            let why = parse_some_time(zero).unwrap_err();
            assert!(why.contains("is no time"), "{why}");
        }
        assert!(parse_some_time("5").unwrap_err().contains("with a unit"));
    }
}
