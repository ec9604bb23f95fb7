//! The commands that make a record again, built from its original command line.

use model::record::ERROR_RATE;
use model::{Ended, Judged};
use os::quote;

/// Flags of the original command that are dropped: they do not affect the measurement, or the new
/// command sets them itself (`--seed`, `--only`). A record may come from anyone, so those that do
/// more than measure are dropped too: start a program for findings, ask a node, open a port or
/// write another file. `--ring` needs the file of `--record`.
const DROPPED_FLAGS: [&str; 19] = [
    "--report",
    "--only",
    "--skip",
    "--seed",
    "--format",
    "--undecided",
    "--exit-for",
    "--into",
    "--jitter",
    "--host-name",
    "--hash-host-name",
    "--on-finding",
    "--node",
    "--cookie-file",
    "--listen",
    "--output",
    "--page",
    "--mail",
    "--ring",
];

/// Switches that do not affect the measurement, and those that allow what only the user should
/// allow.
const DROPPED_SWITCHES: [&str; 8] = [
    "--json",
    "--why",
    "--brief",
    "--exit-zero",
    "--trust",
    "--yes",
    "--node-anywhere",
    "--listen-anywhere",
];

/// What a new command leaves out besides [`DROPPED_FLAGS`] and [`DROPPED_SWITCHES`].
struct LeftOut {
    /// Flags with a value.
    flags: &'static [&'static str],
    /// Switches.
    switches: &'static [&'static str],
}

/// For a new study: it must not replace the records of the old one.
const NEW: LeftOut = LeftOut { flags: &["--record", "--records", "-o"], switches: &[] };

/// For a command that continues a study. The file that the user named has the blocks so far, and
/// with `--fresh` it would begin anew.
const CONTINUED: LeftOut = LeftOut { flags: &[], switches: &["--fresh"] };

/// For a study over kernels. Its record has the command of the guest of one kernel, which gets the
/// file as text.
const OVER_KERNELS: LeftOut =
    LeftOut { flags: &["--record", "-o", "--text", IN_KERNEL, "--samples"], switches: &[] };

/// The flag of the part of one kernel in a study over kernels.
const IN_KERNEL: &str = "--in-kernel";

/// The words that `tailback matrix` adds to the command of its runs, unless that sets the number
/// of blocks itself or the matrix is a quick one.
const OF_MATRIX: [&str; 2] = ["--at-least", "16"];

/// The switch of `tailback matrix` that its runs get too. With it, a `check` of one scenario uses
/// quick settings, as a `check` of several does.
const QUICK: &str = "--quick";

/// The first word of a command in a guest that runs the same program as its host. If the user
/// named another one with `--program`, the host writes its whole path there.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// The commands that make records. A record may come from anyone, and other commands run what their
/// words say, such as `tailback bisect --build COMMAND`.
const MEASURING: [&str; 7] = ["run", "check", "study", "watch", "compare", "matrix", "advise"];

/// The word before the words for another command.
const REST: &str = "--";

/// The clock of an emulated guest, unless the user or the kernel asks for another one.
const USUAL_CLOCK: &str = "host";

/// The command line that runs the study again with the same seed, if the record tells the seed.
/// For a record of a `check`, it is limited to the scenario of the record.
pub fn command(record: &Judged) -> String {
    if record.live.is_some() {
        return joined(record, &NEW, &[]);
    }
    let seed = seed(record).map(|seed| seed.to_string());
    let more: Vec<&str> = seed.iter().flat_map(|seed| ["--seed", seed.as_str()]).collect();
    let left_out = if is_over_kernels(record) { &OVER_KERNELS } else { &NEW };
    joined(record, left_out, &more)
}

/// The seed of the command that made the record. None if the record does not tell it.
fn seed(record: &Judged) -> Option<u64> {
    // Each pair of a comparison has a seed of its own in its plans.
    if let Some(pair) = &record.pair {
        return Some(pair.seed);
    }
    // The fresh runs of a matrix have other seeds, which do not tell the one that it chose by
    // itself.
    match is_by(record, "matrix") {
        true => given_seed(record),
        false => Some(record.plan.seed),
    }
}

/// Whether this command of tailback made the record.
fn is_by(record: &Judged, command: &str) -> bool {
    record.tool.argv.get(1).is_some_and(|word| word == command)
}

/// The seed that the user gave to the command that made the record.
fn given_seed(record: &Judged) -> Option<u64> {
    let mut words = record.tool.argv.iter().take_while(|word| *word != REST);
    while let Some(word) = words.next() {
        match parts(word) {
            ("--seed", Some(value)) => return value.parse().ok(),
            ("--seed", None) => return words.next()?.parse().ok(),
            _ => {}
        }
    }
    None
}

/// Whether [`command_to_continue`] continues the study of the record. A guest has no record of an
/// earlier one, and a study that has all its blocks is complete.
pub fn can_continue(record: &Judged) -> bool {
    let goes_on = match record.tool.argv.get(1).map(String::as_str) {
        Some("run" | "check") => matches!(record.ended, Ended::Complete | Ended::Interrupted),
        Some("study") => matches!(record.ended, Ended::Running | Ended::Interrupted),
        _ => false,
    };
    goes_on && record.machine.guest.is_none()
}

/// Whether the very same command continues the study of the record.
pub fn continues(record: &Judged) -> bool {
    // `study` finds the record of its file with a seed too.
    let begins_anew = |word: &String| match parts(word).0 {
        "--fresh" => true,
        "--seed" => !is_by(record, "study"),
        _ => false,
    };
    can_continue(record) && !record.tool.argv.iter().any(begins_anew)
}

/// The command that continues a study which was left undecided. With a seed, `run` and `check`
/// would begin anew. `study` needs the seed that was given: without it, the seed in its file would
/// count, and the record be refused.
pub fn command_to_continue(record: &Judged) -> String {
    let seed = given_seed(record).filter(|_| is_by(record, "study")).map(|seed| seed.to_string());
    let more: Vec<&str> = seed.iter().flat_map(|seed| ["--seed", seed.as_str()]).collect();
    joined(record, &CONTINUED, &more)
}

/// The command line that runs the study of a record on these kernels, in turn.
pub fn matrix(record: &Judged, kernels: &[&str]) -> String {
    let kernels = quote::word(&as_asked(kernels));
    let mut words = ["tailback", "matrix"].map(str::to_owned).to_vec();
    words.extend([quote::word(&record.scenario), "--kernels".to_owned(), kernels]);
    words.extend(of_guest(record));
    // The first two words of the original command are `run` and the scenario.
    let mut of_runs: Vec<String> = given(record, &NEW).into_iter().skip(2).collect();
    if let Some(added) = of_runs.windows(2).position(|two| two == OF_MATRIX) {
        of_runs.drain(added..added + OF_MATRIX.len());
    } else if let Some(quick) = of_runs.iter().position(|word| word == QUICK) {
        words.push(of_runs.remove(quick));
    }
    words.push("--".to_owned());
    words.extend(of_runs);
    words.join(" ")
}

/// The names of versions as `--kernels` takes them: `debian:7.0 (1)` and `debian:7.0 (2)` are two
/// runs of `debian:7.0*2`.
fn as_asked(versions: &[&str]) -> String {
    let is_number =
        |word: &str| word.strip_suffix(')').is_some_and(|word| word.parse::<u32>().is_ok());
    let kernels = versions.iter().copied().map(|version| match version.rsplit_once(" (") {
        Some((kernel, number)) if kernel.contains(':') && is_number(number) => kernel,
        _ => version,
    });
    let kernels: Vec<&str> = kernels.collect();
    let counted = kernels.chunk_by(|one, other| one == other).map(|same| match same.len() {
        1 => same[0].to_owned(),
        runs => format!("{}*{runs}", same[0]),
    });
    counted.collect::<Vec<String>>().join(",")
}

/// The path of the program that the user named for the guest of the record. None if the guest ran
/// the same program as its host.
pub fn program(record: &Judged) -> Option<&str> {
    record.machine.guest.as_ref()?;
    let first = record.tool.argv.first()?.as_str();
    // Another word, such as one that looks like a flag, is none that the host wrote there.
    let is_path = first.starts_with('/') || first.starts_with("./");
    (is_path && first != OWN_PROGRAM).then_some(first)
}

/// Whether it is the record of a study over kernels, which was made of the records of its guests.
fn is_over_kernels(record: &Judged) -> bool {
    record.tool.argv.iter().any(|word| word == IN_KERNEL)
}

/// The flags of the record's guest besides its kernel, each quoted. Its memory is not in the
/// record.
fn of_guest(record: &Judged) -> Vec<String> {
    let (Some(size), Some(guest)) = (record.machine.guest_of(), &record.machine.guest) else {
        return Vec::new();
    };
    // Kernels of Debian have the usual clock. Which one another kernel has depends on its name.
    let is_usual = |clock: &str| clock == USUAL_CLOCK && guest.kernel_name.starts_with("debian:");
    let clock = guest.clock.as_deref().filter(|clock| !is_usual(clock));
    let mut words = vec!["--cpus".to_owned(), size.cpus.to_string()];
    for (flag, value) in
        [("--root", guest.root.as_deref()), ("--clock", clock), ("--program", program(record))]
    {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), quote::word(value)]));
    }
    words
}

/// The words of the record, each quoted. A record may come from anyone, so the first word is
/// always `tailback`.
fn joined(record: &Judged, left_out: &LeftOut, more: &[&str]) -> String {
    let mut words: Vec<String> = vec!["tailback".to_owned()];
    if let Some(guest) = record.machine.guest.as_ref().filter(|_| !is_over_kernels(record)) {
        let kernel = quote::word(&guest.kernel_name);
        words.extend(["vm".to_owned(), "--kernel".to_owned(), kernel]);
        words.extend(of_guest(record));
        words.push("--".to_owned());
    }
    let mut own = given(record, left_out);
    let mut added: Vec<String> = Vec::new();
    if is_by(record, "check") {
        if was_one_of_several(record) && !record.tool.argv.iter().any(|word| word == QUICK) {
            added.push(QUICK.to_owned());
        }
        added.extend(["--only".to_owned(), quote::word(&record.scenario)]);
    }
    added.extend(more.iter().map(|word| quote::word(word)));
    // After `--`, a flag would be one of another command: `matrix` gives those words to `run`.
    let rest = own.iter().position(|word| word == REST).unwrap_or(own.len());
    let rest = own.split_off(rest);
    words.extend(own.into_iter().chain(added).chain(rest));
    words.join(" ")
}

/// Whether the study began in a check of several studies, which use quick settings. None of them
/// settles its fixes, and they share an error rate. A single study that continues one settles its
/// fixes, but keeps the words of the first command and its share of the error rate.
fn was_one_of_several(record: &Judged) -> bool {
    !record.plan.settle_fixes || record.plan.error_rate.is_some_and(|rate| rate < ERROR_RATE)
}

/// The words after the program name, each quoted. Words that do not affect the measurement are
/// left out, and so is what `left_out` names.
fn given(record: &Judged, left_out: &LeftOut) -> Vec<String> {
    let command = record.tool.argv.get(1).map(String::as_str);
    let makes_records = command.is_some_and(|command| MEASURING.contains(&command));
    if !makes_records {
        return plain(record);
    }
    let mut words = Vec::new();
    let mut given = record.tool.argv.iter().skip(1);
    let is_dropped =
        |switch: &str| DROPPED_SWITCHES.contains(&switch) || left_out.switches.contains(&switch);
    while let Some(word) = given.next() {
        let (name, value) = parts(word);
        match DROPPED_FLAGS.contains(&name) || left_out.flags.contains(&name) {
            true if value.is_some() => {}
            true => drop(given.next()),
            false if is_dropped(word) => {}
            false => words.push(quote::word(word)),
        }
    }
    words
}

/// The name of a flag, and its value if that is part of the same word: `--name=value`, `-nvalue`.
fn parts(word: &str) -> (&str, Option<&str>) {
    let is_short = word.starts_with('-') && !word.starts_with("--");
    let parted = match is_short {
        true => word.split_at_checked(2).filter(|(_, value)| !value.is_empty()),
        false => word.split_once('='),
    };
    parted.map_or((word, None), |(name, value)| (name, Some(value)))
}

/// The words after the program name if those of the record are of no command that makes records.
fn plain(record: &Judged) -> Vec<String> {
    match record.live.is_some() {
        true => vec!["watch".to_owned()],
        false => vec!["run".to_owned(), quote::word(&record.scenario)],
    }
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
        assert_eq!(of(&["tailback", "run", "x", "--seed=3", "--json"]), "tailback run x --seed 7");
        let check = ["tailback", "check", "--quick", "--why", "--skip", "a,b"];
        assert_eq!(of(&check), "tailback check --quick --only some-stall --seed 7");
    }

    /// A single study of a check has its own settings, and several have quick ones.
    #[test]
    fn a_study_that_shared_a_check_is_repeated_with_quick_settings() {
        let mut record = record(&["tailback", "check", "--report", "check.html"]);
        record.plan.settle_fixes = false;
        assert_eq!(command(&record), "tailback check --quick --only some-stall --seed 7");
        assert_eq!(command_to_continue(&record), "tailback check --quick --only some-stall");
        record.plan.settle_fixes = true;
        record.plan.error_rate = Some(ERROR_RATE / 9.0);
        assert_eq!(command_to_continue(&record), "tailback check --quick --only some-stall");
        record.plan.error_rate = Some(ERROR_RATE);
        assert_eq!(command(&record), "tailback check --only some-stall --seed 7");
    }

    /// A stranger may have made the record, and users copy this command line into a shell.
    #[test]
    fn what_does_more_than_measure_is_left_out() {
        let watch = ["tailback", "watch", "--for", "30s", "--node", "a@b", "--node-anywhere"];
        let asks = ["--cookie-file=/f", "--on-finding", "/tmp/x", "--listen=0.0.0.0:80"];
        let more = ["--listen-anywhere", "--ring", "64MiB", "--record", "/a.json", "--pid", "7"];
        let mut seen = record(&[&watch[..], &asks, &more].concat());
        seen.live = Some(model::Live::default());
        assert_eq!(command(&seen), "tailback watch --for 30s --pid 7");
        let study = ["tailback", "study", "x.toml", "--trust", "--yes", "-o/a=b", "-o", "/c"];
        assert_eq!(of(&study), "tailback study x.toml --seed 7");
        let compare = ["tailback", "compare", "--run", "a.toml", "b.toml", "--trust"];
        let writes = ["--records=/a", "--output", "/b", "-o=/c", "--quick"];
        let line = "tailback compare --run a.toml b.toml --quick --seed 7";
        assert_eq!(of(&[&compare[..], &writes].concat()), line);
        let negative = ["tailback", "run", "x", "--nice", "-10"];
        assert_eq!(of(&negative), "tailback run x --nice -10 --seed 7");
    }

    /// A run of a pair has a seed that no user gave.
    #[test]
    fn a_comparison_is_repeated_with_its_own_seed() {
        let mut run = record(&["tailback", "compare", "--run", "a.toml", "b.toml", "--pairs", "6"]);
        run.pair = Some(model::Pair { seed: 5, number: 2, first: true });
        assert_eq!(command(&run), "tailback compare --run a.toml b.toml --pairs 6 --seed 5");
    }

    #[test]
    fn the_seed_of_a_matrix_comes_before_the_flags_of_its_runs() {
        let of = |own: &str| {
            let line = format!("tailback matrix x --otps a,b{own} -- --mode nif_busy");
            command(&record(&line.split(' ').collect::<Vec<&str>>()))
        };
        let with = |seed: &str| format!("tailback matrix x --otps a,b{seed} -- --mode nif_busy");
        assert_eq!(of(" --seed 3"), with(" --seed 3"));
        assert_eq!(of(" --seed=3"), with(" --seed 3"));
        assert_eq!(of(""), with(""), "it does not tell its seed");
    }

    /// A run looks for blocks to continue only in the file that it names.
    #[test]
    fn a_study_is_continued_in_its_file_and_repeated_in_another() {
        let run = ["tailback", "run", "x", "--fresh", "--record", "x y.json"];
        assert_eq!(command_to_continue(&record(&run)), "tailback run x --record 'x y.json'");
        let study = ["tailback", "study", "x.toml", "-o", "x.json", "--fresh"];
        assert_eq!(of(&study), "tailback study x.toml --fresh --seed 7");
    }

    /// The file of a study may have a seed too, and the record of another seed is refused.
    #[test]
    fn a_study_is_continued_with_the_seed_that_was_given() {
        let of = |words: &[&str]| {
            let study = ["tailback", "study", "x.toml"];
            command_to_continue(&record(&[&study[..], words].concat()))
        };
        let line = "tailback study x.toml --samples 9 --quick --seed 3";
        assert_eq!(of(&["--seed", "3", "--samples", "9", "--quick", "--fresh", "--why"]), line);
        assert_eq!(of(&["--seed=3"]), "tailback study x.toml --seed 3");
        assert_eq!(of(&[]), "tailback study x.toml", "the record tells the seed");
        let run = record(&["tailback", "run", "x", "--seed", "3"]);
        assert_eq!(command_to_continue(&run), "tailback run x", "with it, the run begins anew");
    }

    #[test]
    fn only_a_command_that_finds_its_record_continues_it() {
        let of = |words: &[&str], ended: Ended| {
            let mut record = record(&[&["tailback"][..], words].concat());
            record.ended = ended;
            (can_continue(&record), continues(&record))
        };
        let cases: [(&[&str], (bool, bool)); 8] = [
            (&["run", "x"], (true, true)),
            (&["check"], (true, true)),
            (&["run", "x", "--seed=3"], (true, false)),
            (&["run", "x", "--fresh"], (true, false)),
            (&["check", "--seed", "3"], (true, false)),
            (&["study", "x.toml"], (false, false)),
            (&["matrix", "x", "--otps", "auto,debian:trixie"], (false, false)),
            (&["advise", "--run"], (false, false)),
        ];
        for (words, expected) in cases {
            assert_eq!(of(words, Ended::Complete), expected, "{words:?}");
        }
        assert_eq!(of(&["run", "x"], Ended::Running), (false, false));
        let study = ["study", "x.toml", "--seed", "1"];
        assert_eq!(of(&study, Ended::Interrupted), (true, true));
        assert_eq!(of(&[&study[..], &["--fresh"]].concat(), Ended::Running), (true, false));
        let mut in_guest = record(&["tailback", "run", "x"]);
        in_guest.machine.guest = guest("debian:6.12");
        assert!(!can_continue(&in_guest) && !continues(&in_guest));
    }

    #[test]
    fn flags_of_brief_records_are_left_out_together() {
        let brief = ["tailback", "run", "x", "--brief", "--into", "/a", "--host-name", "h"];
        let more = ["--hash-host-name", "/s", "--jitter=9s", "--exit-zero", "--busy", "1"];
        assert_eq!(of(&[&brief[..], &more].concat()), "tailback run x --busy 1 --seed 7");
    }

    fn guest(kernel_name: &str) -> Option<model::machine::Guest> {
        let kernel_name = kernel_name.to_owned();
        Some(model::machine::Guest { kernel_name, ..Default::default() })
    }

    /// Its record has the command of the guest of its control, which no user can run.
    #[test]
    fn a_study_over_kernels_is_repeated_on_the_host() {
        let words = ["/proc/self/exe", "study", "x.toml", "--text", "a = 1", "--in-kernel", "k"];
        let more = ["--yes", "--trust", "--samples", "6", "--seed", "3", "--quick"];
        let mut record = record(&[&words[..], &more].concat());
        record.machine.guest = guest("k");
        assert_eq!(command(&record), "tailback study x.toml --quick --seed 7");
    }

    #[test]
    fn a_guest_gets_the_program_the_clock_and_the_root_of_the_first_one() {
        let words = ["/a b/tailback", "run", "x", "--seed", "3", "--quick", "--busy", "1"];
        let mut record = record(&words);
        assert_eq!(program(&record), None, "it is the path on this machine");
        record.machine.guest = guest("debian:6.12");
        let said = command(&record);
        assert!(said.contains(" --program '/a b/tailback' -- run x --quick --busy 1"), "{said}");
        let both = matrix(&record, &["debian:6.12"]);
        assert!(both.contains(" --program '/a b/tailback' --quick -- --busy 1"), "{both}");
        for none in [OWN_PROGRAM, "tailback", "-rf", ""] {
            record.tool.argv[0] = none.to_owned();
            assert_eq!(program(&record), None, "{none}");
            assert!(!command(&record).contains("--program"), "{none}");
        }
        for (kernel, clock, flag) in [
            ("debian:6.12", "instructions", Some(" --clock instructions")),
            ("built:plain", "host", Some(" --clock host")),
            ("debian:6.12", "host", None),
        ] {
            record.machine.guest = guest(kernel);
            let guest = record.machine.guest.as_mut().unwrap();
            guest.clock = Some(clock.to_owned());
            guest.root = Some("host".to_owned());
            for said in [command(&record), matrix(&record, &[kernel])] {
                assert!(said.contains(" --root host"), "{said}");
                assert_eq!(said.contains(" --clock "), flag.is_some(), "{said}");
                assert!(said.contains(flag.unwrap_or_default()), "{said}");
            }
        }
    }

    #[test]
    fn several_runs_of_a_kernel_are_counted() {
        let two = ["debian:7.0 (1)", "debian:7.0 (2)", "debian:7.1"];
        assert_eq!(as_asked(&two), "debian:7.0*2,debian:7.1");
        let said = matrix(&record(&["tailback", "run", "x"]), &two);
        assert!(said.contains(" --kernels 'debian:7.0*2,debian:7.1' "), "{said}");
        assert_eq!(as_asked(&["linux (1)", "linux (2)"]), "linux (1),linux (2)", "two folders");
    }

    #[test]
    fn a_number_of_blocks_that_the_user_chose_is_kept() {
        let of = |blocks: &str| {
            let words = ["tailback", "run", "x", "--quick", "--at-least", blocks];
            matrix(&record(&words), &["k"])
        };
        assert_eq!(of("16"), "tailback matrix some-stall --kernels k -- --quick");
        assert_eq!(of("30"), "tailback matrix some-stall --kernels k --quick -- --at-least 30");
    }

    #[test]
    fn what_came_from_a_guest_is_run_in_one() {
        let mut record = record(&["tailback", "run", "x", "--json"]);
        record.machine.guest = guest("debian:6.12");
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
        let mut record = record(&["/x'$(reboot)\n\u{1b}", "run", "x"]);
        record.machine.guest = guest("k");
        let said = command(&record);
        let path = quote::word("/x'$(reboot)  ");
        assert!(said.contains(&format!(" --program {path} -- run x ")), "{said}");
        assert!(!said.contains(['\n', '\u{1b}']), "{said}");
    }

    #[test]
    fn only_commands_that_make_records_are_repeated() {
        let of = |argv: &[&str]| {
            let record = record(argv);
            (command(&record), command_to_continue(&record), matrix(&record, &["k"]))
        };
        let usual = of(&["tailback", "run", "some-stall"]);
        assert_eq!(usual.0, "tailback run some-stall --seed 7");
        let build = ["tailback", "bisect", "--build", "rm -rf /", "--record", "/etc/x"];
        for argv in [&build[..], &["tailback", "vm", "--program", "/x"], &["tailback"], &[]] {
            assert_eq!(of(argv), usual, "{argv:?}");
        }
    }
}
