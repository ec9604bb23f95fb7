//! The requested versions, and the command that runs in each.

use super::flags::Matrix;
use crate::exit::Failure;
use guest::versions::{Of, expand};

/// Most versions of a matrix.
const MOST: usize = 64;

/// Most runs of one version.
const MOST_COPIES: usize = 64;

/// Minimum number of blocks per version. Six blocks may settle a verdict. But six against six
/// blocks have only 924 orders. If the error rate is split over a few pairs, one outlier then
/// hides a boundary. `report::repro` knows this number too, and leaves the flag out of a suggested
/// `matrix`.
const BLOCKS: u32 = 16;

/// Blocks of each fresh run of two versions. There the difference between runs counts, not the
/// difference between blocks.
const FRESH_BLOCKS: u32 = 8;

/// Flags of `run` that set the number of blocks.
const SAY_BLOCKS: [&str; 3] = ["--samples", "--at-least", "--time"];

/// The requested versions, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Kernels.
    Kernels(Vec<Name>),
    /// OTPs.
    Otps(Vec<Name>),
}

/// A version that is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name in the request.
    pub asked: String,
    /// The name of its row: the requested name, with a number if it runs several times.
    pub shown: String,
}

impl Name {
    /// The same version, in a fresh run.
    pub fn fresh(&self, pair: usize) -> Name {
        Name { asked: self.asked.clone(), shown: format!("{}, pair {pair}", self.shown) }
    }

    /// The same version, once more.
    pub fn again(&self) -> Name {
        Name { asked: self.asked.clone(), shown: format!("{}, again", self.shown) }
    }
}

impl Asked {
    /// Reads the flags. A range stands for all versions in it.
    ///
    /// # Errors
    /// If a name is empty or appears twice, a range makes no sense, or both or neither of the
    /// flags are given.
    pub fn of(flags: &Matrix) -> Result<Self, Failure> {
        let kernels = named(&flags.kernels, "kernels", Of::Kernel)?;
        let otps = named(&flags.otps, "otps", Of::Otp)?;
        match (kernels.is_empty(), otps.is_empty()) {
            (false, true) => Ok(Asked::Kernels(kernels)),
            (true, false) => Ok(Asked::Otps(otps)),
            (true, true) => Err(Failure::usage("give --kernels or --otps")),
            (false, false) => Err(Failure::usage(
                "--kernels and --otps: give only one of them; for another OTP in a guest, give \
                 --root, or combine both as factors of `tailback study`",
            )),
        }
    }

    /// The kernels that these words name. A range stands for all kernels in it.
    ///
    /// # Errors
    /// The same as [`Asked::of`].
    pub fn kernels(words: &[String]) -> Result<Vec<Name>, Failure> {
        named(words, "kernels", Of::Kernel)
    }

    /// The versions, in order.
    pub fn names(&self) -> &[Name] {
        match self {
            Asked::Kernels(names) | Asked::Otps(names) => names,
        }
    }

    /// The kind of version, for a line of progress.
    pub fn things(&self) -> &'static str {
        match self {
            Asked::Kernels(_) => "kernels, block by block",
            Asked::Otps(_) => "OTPs, block by block",
        }
    }
}

fn named(words: &[String], flag: &str, of: Of) -> Result<Vec<Name>, Failure> {
    let mut names: Vec<Name> = Vec::new();
    for word in words {
        if word.is_empty() {
            let line = format!("--{flag}: a name is empty; separate names by single commas");
            return Err(Failure::usage(line));
        }
        let (word, copies) =
            copies(word).map_err(|why| Failure::usage(format!("--{flag} {why}")))?;
        let all = expand(of, word).map_err(|why| Failure::usage(format!("--{flag} {why}")))?;
        for asked in all {
            if names.iter().any(|name| name.asked == asked) {
                return Err(Failure::usage(format!(
                    "--{flag}: {asked} appears twice; to run it twice, write {asked}*2"
                )));
            }
            let shown = |copy| match copies {
                1 => asked.clone(),
                _ => format!("{asked} ({copy})"),
            };
            names
                .extend((1..=copies).map(|copy| Name { asked: asked.clone(), shown: shown(copy) }));
        }
    }
    match names.len() > MOST {
        true => Err(Failure::usage(format!("--{flag}: at most {MOST} versions"))),
        false => Ok(names),
    }
}

/// Splits a name such as `debian:6.18*12` into the name and the number of runs.
fn copies(word: &str) -> Result<(&str, usize), String> {
    let Some((name, copies)) = word.rsplit_once('*') else { return Ok((word, 1)) };
    let count = copies.parse().ok().filter(|count| (1..=MOST_COPIES).contains(count));
    let count =
        count.ok_or_else(|| format!("{word}: the number after * must be 1 to {MOST_COPIES}"))?;
    Ok((name, count))
}

/// How long a version is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Until the study is settled and has enough blocks for a comparison.
    Whole,
    /// The length of one of two fresh runs.
    Fresh,
}

/// The words after `run SCENARIO`. They are the same for every version.
pub fn words(flags: &Matrix, seed: u64, length: Length) -> Vec<String> {
    let mut words = vec!["--seed".to_owned(), seed.to_string()];
    if flags.quick {
        words.push("--quick".to_owned());
    }
    let says = |word: &String| SAY_BLOCKS.contains(&word.split('=').next().unwrap_or_default());
    match length {
        _ if flags.words.iter().any(says) => {}
        Length::Fresh => words.extend(["--samples".to_owned(), FRESH_BLOCKS.to_string()]),
        Length::Whole if flags.quick => {}
        Length::Whole => words.extend(["--at-least".to_owned(), BLOCKS.to_string()]),
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
        match command_line::parse(words).unwrap().unwrap() {
            Commands::Matrix(matrix) => matrix,
            _ => panic!("{line}: another command"),
        }
    }

    fn asked(line: &str) -> Result<Asked, Failure> {
        Asked::of(&parse(&format!("matrix mmap-lock {line}")))
    }

    #[test]
    fn an_expectation_excludes_what_would_hide_it() {
        for (more, wrong) in [("--bisect", true), ("--format ktap", true), ("", false)] {
            let line = format!("tailback matrix mmap-lock --kernels a,b --expect {more}");
            let refused = command_line::parse(line.split_whitespace()).err();
            let conflict = refused.map(|error| error.kind());
            let wanted = wrong.then_some(clap::error::ErrorKind::ArgumentConflict);
            assert_eq!(conflict, wanted, "{line}");
        }
    }

    #[test]
    fn every_version_runs_the_same_words() {
        let matches = parse("matrix mmap-lock --kernels a,b --quick -- --procfile maps");
        let words = words(&matches, 7, Length::Whole);
        assert_eq!(words, ["--seed", "7", "--quick", "--procfile", "maps"].map(String::from));
        let of = |line: &str, length| {
            super::words(&parse(&format!("matrix mmap-lock {line}")), 7, length)
        };
        let words_of = |line: &str| of(line, Length::Whole);
        assert_eq!(words_of("--kernels a,b")[2..], ["--at-least", "16"].map(String::from));
        let few = words_of("--kernels a,b -- --samples=9");
        assert_eq!(few[2..], ["--samples=9"].map(String::from));
        let fresh = |line: &str| of(line, Length::Fresh);
        assert_eq!(fresh("--kernels a,b")[2..], ["--samples", "8"].map(String::from));
        assert_eq!(fresh("--kernels a,b -- --samples=9")[2..], ["--samples=9"].map(String::from));
        let line = ["run", "mmap-lock"].map(str::to_owned).into_iter().chain(words);
        assert!(Inner::parse(&line.collect::<Vec<_>>()).is_ok());
    }

    #[test]
    fn names_are_kept_in_order_and_ranges_become_lists() {
        let plain = |name: &&str| Name { asked: (*name).into(), shown: (*name).into() };
        let kernels = |names: &[&str]| Asked::Kernels(names.iter().map(plain).collect());
        assert_eq!(asked("--kernels a,b").unwrap(), kernels(&["a", "b"]));
        let range = asked("--kernels debian:5.10..6.12,built:plain").unwrap();
        assert!(range.names().len() >= 4 && range.names()[0].asked == "debian:5.10", "{range:?}");
        let otps = asked("--otps debian:bookworm..trixie").unwrap();
        let otps: Vec<&str> = otps.names().iter().map(|name| name.shown.as_str()).collect();
        assert_eq!(otps, ["debian:bookworm", "debian:trixie"]);
    }

    #[test]
    fn a_version_may_be_run_several_times() {
        let asked = asked("--kernels debian:6.18*2,b").unwrap();
        let names: Vec<(&str, &str)> =
            asked.names().iter().map(|name| (name.asked.as_str(), name.shown.as_str())).collect();
        let twice = ["debian:6.18 (1)", "debian:6.18 (2)"].map(|shown| ("debian:6.18", shown));
        assert_eq!(names, [twice[0], twice[1], ("b", "b")]);
        assert_eq!(asked.names()[0].fresh(3).shown, "debian:6.18 (1), pair 3");
    }

    #[test]
    fn what_makes_no_ladder_is_refused() {
        for line in [
            "--kernels a,b --kernels a",
            "--kernels a,",
            "--kernels a*0",
            "--kernels a*65",
            "--kernels a*b",
            "--kernels a*2,a",
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
