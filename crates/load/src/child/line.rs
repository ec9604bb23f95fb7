//! Command lines of generators: how they are built.

/// A command line while it is built.
pub(super) struct Line(Vec<String>);

impl Line {
    /// Starts with the generator's name.
    pub fn of(generator: &str) -> Self {
        Line(vec![generator.to_owned()])
    }

    /// Adds an option if it has a value.
    pub fn put(&mut self, option: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.extend([format!("--{option}"), value.to_string()]);
        }
    }

    /// The words of the command line.
    pub fn words(self) -> Vec<String> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use crate::child::LoadCommand;
    use crate::child::{mapper::MapperArgs, scanner::ScannerArgs, spinner::SpinnerArgs};
    use clap::{FromArgMatches, Subcommand};
    use proptest::prelude::*;

    fn read(words: &[String]) -> LoadCommand {
        let command = LoadCommand::augment_subcommands(clap::Command::new("load"));
        let words = std::iter::once("load".to_owned()).chain(words.iter().cloned());
        LoadCommand::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            number in any::<u64>(), cpu in any::<Option<u32>>(), pid in any::<u32>(), nice in -20..20,
        ) {
            let mapper = MapperArgs {
                bytes: Some(number), mb: None, duration_ms: number, pause_us: number, cpu,
                seed: number, twin: Some(number), live_fd: Some(7), parent: cpu,
            };
            prop_assert_eq!(read(&mapper.to_args()), LoadCommand::Mapper(mapper));
            let scanner = ScannerArgs {
                pid, file: "net/dev".into(), workers: pid, nice, cpu, limit_ms: Some(number),
                join: vec!["/sys/fs/cgroup/a".into(), "b c".into()], parent: cpu,
            };
            prop_assert_eq!(read(&scanner.to_args()), LoadCommand::Scanner(scanner));
            let spinner = SpinnerArgs {
                pid, file: "smaps".into(), workers: pid, busyduration: number, cpu,
                limit_ms: None, parent: cpu,
            };
            prop_assert_eq!(read(&spinner.to_args()), LoadCommand::Spinner(spinner));
        }
    }
}
