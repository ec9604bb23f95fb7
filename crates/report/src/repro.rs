//! The commands that make a record again, built from its original command line.

use model::Judged;
use os::quote;

/// Flags of the original command that are dropped: they do not affect the measurement, or the new
/// command sets them itself (`--seed`, `--only`).
const DROPPED_FLAGS: [&str; 8] =
    ["--record", "--report", "--only", "--skip", "--seed", "--format", "--undecided", "--exit-for"];

/// Flags that `tailback matrix` adds to the command of its runs.
const OF_MATRIX: [&str; 1] = ["--at-least"];

/// Switches that do not affect the measurement.
const DROPPED_SWITCHES: [&str; 2] = ["--json", "--why"];

/// The command line that runs the study again with the same seed. For a record of a `check`, it
/// is limited to the scenario of the record.
pub fn command(record: &Judged) -> String {
    if record.live.is_some() {
        return joined(record, &[]);
    }
    let seed = record.plan.seed.to_string();
    joined(record, &["--seed", &seed])
}

/// The same command without a seed: it continues a study that was left undecided.
pub fn command_to_continue(record: &Judged) -> String {
    joined(record, &[])
}

/// The command line that runs the study of a record on these kernels, in turn.
pub fn matrix(record: &Judged, kernels: &[&str]) -> String {
    let kernels = quote::word(&kernels.join(","));
    let mut words = ["tailback", "matrix"].map(str::to_owned).to_vec();
    words.extend([quote::word(&record.scenario), "--kernels".to_owned(), kernels]);
    if let Some(guest) = record.machine.guest_of() {
        words.extend(["--cpus".to_owned(), guest.cpus.to_string()]);
    }
    words.push("--".to_owned());
    // The first two words of the original command are `run` and the scenario.
    words.extend(given(record, &OF_MATRIX).into_iter().skip(2));
    words.join(" ")
}

/// The words of the record, each quoted. A record may come from anyone, so the first word is
/// always `tailback`.
fn joined(record: &Judged, more: &[&str]) -> String {
    let mut words: Vec<String> = vec!["tailback".to_owned()];
    if let Some(guest) = record.machine.guest_of() {
        let (kernel, cpus) = (quote::word(&guest.kernel), guest.cpus.to_string());
        words.extend(["vm", "--kernel", &kernel, "--cpus", &cpus].map(str::to_owned));
        words.extend(guest.root.iter().flat_map(|root| ["--root".to_owned(), quote::word(root)]));
        words.push("--".to_owned());
    }
    words.extend(given(record, &[]));
    if record.tool.argv.get(1).is_some_and(|word| word == "check") {
        words.extend(["--only".to_owned(), quote::word(&record.scenario)]);
    }
    words.extend(more.iter().map(|word| quote::word(word)));
    words.join(" ")
}

/// The words after the program name, each quoted. Words that do not affect the measurement are
/// left out, and so are the flags in `without` with their values.
fn given(record: &Judged, without: &[&str]) -> Vec<String> {
    let mut words = Vec::new();
    let mut given = record.tool.argv.iter().skip(1);
    while let Some(word) = given.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        match DROPPED_FLAGS.contains(&name) || without.contains(&name) {
            true if value.is_some() => {}
            true => drop(given.next()),
            false if DROPPED_SWITCHES.contains(&word.as_str()) => {}
            false => words.push(quote::word(word)),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn record(argv: &[&str]) -> Judged {
        let mut record = testing::record();
        record.tool.argv = argv.iter().map(|word| (*word).to_owned()).collect();
        record.plan.seed = 7;
        record
    }

    fn of(argv: &[&str]) -> String {
        command(&record(argv))
    }

    #[test]
    fn the_seed_is_named_and_files_are_not() {
        let run =
            ["/usr/bin/tailback", "run", "mmap-lock", "--record", "x y.json", "--busy", "0,10"];
        assert_eq!(of(&run), "tailback run mmap-lock --busy 0,10 --seed 7");
        assert_eq!(command_to_continue(&record(&run)), "tailback run mmap-lock --busy 0,10");
        assert_eq!(of(&["tailback", "run", "x", "--seed=3", "--json"]), "tailback run x --seed 7");
        let check = ["tailback", "check", "--quick", "--why", "--skip", "a,b"];
        assert_eq!(of(&check), "tailback check --quick --only some-stall --seed 7");
    }

    #[test]
    fn what_came_from_a_guest_is_run_in_one() {
        let mut record = record(&["tailback", "run", "x", "--json"]);
        let kernel_name = "debian:6.12".to_owned();
        record.machine.guest = Some(model::machine::Guest { kernel_name, ..Default::default() });
        let cpu = model::machine::Cpu { id: 0, core: None, package: None, node: None };
        record.machine.cpus.resize(2, cpu);
        let line = "tailback vm --kernel debian:6.12 --cpus 2 -- run x";
        assert_eq!(command_to_continue(&record), line);
        record.tool.argv.extend(["--busy", "1", "--at-least", "16"].map(str::to_owned));
        let line =
            "tailback matrix some-stall --kernels debian:6.12,debian:6.18 --cpus 2 -- --busy 1";
        assert_eq!(matrix(&record, &["debian:6.12", "debian:6.18"]), line);
        record.tool.argv.truncate(4);
        record.machine.guest.as_mut().unwrap().root = Some("/a b".to_owned());
        let line = "tailback vm --kernel debian:6.12 --cpus 2 --root '/a b' -- run x";
        assert_eq!(command_to_continue(&record), line);
    }

    #[test]
    fn hostile_words_are_quoted() {
        assert_eq!(
            of(&["rm", "run", "a; rm -rf /", "it's", "x\u{202e}\ny"]),
            "tailback run 'a; rm -rf /' \"it's\" 'x  y' --seed 7"
        );
    }
}
