//! Which versions are asked for, and what is run in each.

use super::flags::Matrix;
use crate::exit::Failure;
use guest::versions::{Of, expand};

/// Versions of a matrix at most.
const MOST: usize = 64;

/// Blocks of each version at least. A verdict may come after six, but six against six have 924
/// orders, so that one outlier hides a boundary where the error rate is split over a few pairs.
const BLOCKS: u32 = 16;

/// Flags of `run` that say how many blocks there are.
const SAY_BLOCKS: [&str; 3] = ["--samples", "--at-least", "--time"];

/// Versions of what, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Kernels.
    Kernels(Vec<String>),
    /// OTPs.
    Otps(Vec<String>),
}

impl Asked {
    /// From the flags; ranges stand for all versions between.
    ///
    /// # Errors
    /// If a name is empty or there twice, a range makes no sense, or both or neither are given.
    pub fn of(flags: &Matrix) -> Result<Self, Failure> {
        let kernels = named(&flags.kernels, "kernels", Of::Kernel)?;
        let otps = named(&flags.otps, "otps", Of::Otp)?;
        match (kernels.is_empty(), otps.is_empty()) {
            (false, true) => Ok(Asked::Kernels(kernels)),
            (true, false) => Ok(Asked::Otps(otps)),
            (true, true) => Err(Failure::usage("give --kernels or --otps")),
            (false, false) => Err(Failure::usage(
                "--kernels and --otps: a ladder has versions of one of them; for another OTP in a \
                 guest give --root, or combine them as factors of `tailback study`",
            )),
        }
    }

    /// The names, in order.
    pub fn names(&self) -> &[String] {
        match self {
            Asked::Kernels(names) | Asked::Otps(names) => names,
        }
    }

    /// What they are, for a line of progress.
    pub fn things(&self) -> &'static str {
        match self {
            Asked::Kernels(_) => "kernels, block by block",
            Asked::Otps(_) => "OTPs, block by block",
        }
    }
}

fn named(words: &[String], flag: &str, of: Of) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for word in words {
        if word.is_empty() {
            let line = format!("--{flag}: a name is empty; separate names by single commas");
            return Err(Failure::usage(line));
        }
        let all = expand(of, word).map_err(|why| Failure::usage(format!("--{flag} {why}")))?;
        for name in all {
            if names.contains(&name) {
                return Err(Failure::usage(format!("--{flag}: {name} is there twice")));
            }
            names.push(name);
        }
    }
    match names.len() > MOST {
        true => Err(Failure::usage(format!("--{flag}: at most {MOST} versions"))),
        false => Ok(names),
    }
}

/// The further words of `run SCENARIO`, the same for every version.
pub fn words(flags: &Matrix, seed: u64) -> Vec<String> {
    let mut words = vec!["--seed".to_owned(), seed.to_string()];
    if flags.quick {
        words.push("--quick".to_owned());
    }
    let says = |word: &String| SAY_BLOCKS.contains(&word.split('=').next().unwrap_or_default());
    if !flags.words.iter().any(says) && !flags.quick {
        words.extend(["--at-least".to_owned(), BLOCKS.to_string()]);
    }
    words.extend(flags.words.iter().cloned());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;
    use crate::commands::Commands;
    use crate::commands::vm::inner::Inner;

    fn parse(line: &str) -> Matrix {
        let words = std::iter::once("tailback").chain(line.split_whitespace());
        match command_line::parse(words).unwrap() {
            Commands::Matrix(matrix) => matrix,
            _ => panic!("{line}: another command"),
        }
    }

    fn asked(line: &str) -> Result<Asked, Failure> {
        Asked::of(&parse(&format!("matrix mmap-lock {line}")))
    }

    #[test]
    fn every_version_runs_the_same_words() {
        let matches = parse("matrix mmap-lock --kernels a,b --quick -- --procfile maps");
        let words = words(&matches, 7);
        assert_eq!(words, ["--seed", "7", "--quick", "--procfile", "maps"].map(String::from));
        let words_of = |line: &str| super::words(&parse(&format!("matrix mmap-lock {line}")), 7);
        assert_eq!(words_of("--kernels a,b")[2..], ["--at-least", "16"].map(String::from));
        let few = words_of("--kernels a,b -- --samples=9");
        assert_eq!(few[2..], ["--samples=9"].map(String::from));
        let line = ["run", "mmap-lock"].map(str::to_owned).into_iter().chain(words);
        assert!(Inner::parse(&line.collect::<Vec<_>>()).is_ok());
    }

    #[test]
    fn names_are_kept_in_order_and_ranges_become_lists() {
        let kernels = |names: &[&str]| Asked::Kernels(names.iter().map(|n| (*n).into()).collect());
        assert_eq!(asked("--kernels a,b").unwrap(), kernels(&["a", "b"]));
        let range = asked("--kernels debian:5.10..6.12,built:plain").unwrap();
        assert!(range.names().len() >= 4 && range.names()[0] == "debian:5.10", "{range:?}");
        let otps = asked("--otps debian:bookworm..trixie").unwrap();
        assert_eq!(otps.names(), ["debian:bookworm", "debian:trixie"]);
    }

    #[test]
    fn what_makes_no_ladder_is_refused() {
        for line in [
            "--kernels a,b --kernels a",
            "--kernels a,",
            "--kernels debian:6.12..5.10",
            "--kernels debian:6.1,debian:5.10..6.12",
            "--kernels a --otps b",
            "",
        ] {
            let error = asked(line).unwrap_err();
            assert_eq!(error.code, crate::exit::USAGE, "{line}: {}", error.line);
        }
    }
}
