//! Tests of the parameters of every scenario, and of the parsers for their values.

use super::*;
use crate::{ALL, AnyScenario};
use crate::{blocking_nif, busy_wait, cpu_quota, mailbox_flood, mmap_lock};
use clap::{ArgMatches, Command};
use model::{Meta, ParameterKind, Settings, Value};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Parses these words with the flags of a scenario.
fn parsed(scenario: &dyn AnyScenario, words: &[String]) -> Result<ArgMatches, clap::Error> {
    let quick = clap::Arg::new("quick").long("quick").action(clap::ArgAction::SetTrue);
    let command = scenario.flags(Command::new("run").no_binary_name(true)).arg(quick);
    command.try_get_matches_from(words)
}

fn settings(scenario: &dyn AnyScenario, words: &[String]) -> Settings {
    scenario.settings(&parsed(scenario, words).unwrap()).unwrap()
}

#[test]
fn defaults_come_from_an_empty_command_line_and_their_own_text_brings_them_back() {
    for scenario in ALL {
        let meta = scenario.meta();
        for quick in [false, true] {
            let flag = [String::from("--quick")];
            let defaults = meta.defaults(quick);
            let none_or_quick = &flag[..usize::from(quick)];
            assert_eq!(settings(*scenario, none_or_quick), defaults, "{}", meta.id);
            let words: Vec<String> =
                defaults.0.iter().map(|(name, value)| format!("--{name}={value}")).collect();
            assert_eq!(settings(*scenario, &words), defaults, "{}", meta.id);
            for (name, value) in &defaults.0 {
                assert_eq!(meta.read(name, &value.to_string()).as_ref(), Ok(value), "{name}");
            }
        }
    }
}

#[test]
fn what_stands_in_a_record_is_read_into_the_same_parameters() {
    fn holds<P: Params>() {
        for params in [P::default(), P::quick()] {
            let settings = params.settings();
            assert_eq!(P::read(&settings).as_ref(), Ok(&params));
            let json = serde_json::to_value(&params).unwrap();
            assert_eq!(json, serde_json::to_value(&settings).unwrap());
            assert_eq!(serde_json::from_value::<P>(json).unwrap(), params);
        }
        assert_eq!(P::read(&Settings::default()), Ok(P::default()), "an older record lacks some");
        let mut strange = P::default().settings();
        strange.0.values_mut().for_each(|value| *value = Value::Numbers(vec![-1, -1]));
        assert!(P::of(&strange).is_none());
    }
    holds::<mmap_lock::MmapLockParams>();
    holds::<cpu_quota::CpuQuotaParams>();
    holds::<blocking_nif::BlockingNifParams>();
    holds::<mailbox_flood::MailboxFloodParams>();
    holds::<busy_wait::BusyWaitParams>();
}

#[test]
fn every_word_of_a_choice_is_written_as_it_is_read() {
    for scenario in ALL {
        let command = scenario.flags(Command::new("run"));
        for arg in command.get_arguments() {
            let name = arg.get_long().unwrap();
            for word in arg.get_possible_values() {
                let value = Value::Text(word.get_name().to_owned());
                assert_eq!(scenario.meta().read(name, word.get_name()), Ok(value), "{name}");
            }
        }
    }
}

#[test]
fn help_ends_with_the_defaults() {
    let command = ALL[0].flags(Command::new("run"));
    let help = |name: &str| {
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name)).unwrap();
        assert_eq!(arg.get_help_heading(), Some("Parameters"));
        arg.get_help().unwrap().to_string()
    };
    assert_eq!(help("size"), "Size of the mapped region [default: 128MiB]");
    assert!(help("busy").ends_with(" alone [default: 0,10; quick: 10]"), "{}", help("busy"));
}

fn meta(id: &str) -> &'static Meta {
    crate::find(id).unwrap().meta()
}

#[test]
fn kinds_follow_from_types() {
    let kind = |id: &str, name: &str| meta(id).parameter(name).unwrap().kind;
    for (name, wanted) in [
        ("procfile", ParameterKind::Word),
        ("busy", ParameterKind::Amount),
        ("target", ParameterKind::Word),
        ("lead", ParameterKind::Amount),
        ("size", ParameterKind::Amount),
        ("nice", ParameterKind::Amount),
        ("cpu-load", ParameterKind::Cpu),
    ] {
        assert_eq!(kind("mmap-lock", name), wanted, "{name}");
    }
    for (name, wanted) in [
        ("mode", ParameterKind::Word),
        ("schedulers", ParameterKind::Amount),
        ("flags", ParameterKind::Flags),
        ("fixes", ParameterKind::Flags),
        ("otp", ParameterKind::Programs),
    ] {
        assert_eq!(kind("blocking-nif", name), wanted, "{name}");
    }
    assert_eq!(kind("mailbox-flood", "folder"), ParameterKind::Folder);
    assert_eq!(kind("busy-wait", "quota"), ParameterKind::Amount);
    assert_eq!(kind("busy-wait", "sbwt"), ParameterKind::Flags);
    assert_eq!(kind("busy-wait", "fixes"), ParameterKind::Flags);
}

#[test]
fn what_is_wrong_with_a_value_is_said_in_a_sentence() {
    for (id, name, text, wanted) in [
        ("mmap-lock", "busy", "-1", "-1 is not between 0 and 10000"),
        ("mmap-lock", "busy", "1,,2", "`` is not a whole number"),
        ("mmap-lock", "nice", "x", "`x` is not a whole number"),
        ("mmap-lock", "lead", "2min", "2min is not between 0s and 1min"),
        ("mmap-lock", "pause", "500ns", "whole microseconds only"),
        ("mmap-lock", "target", "me", "`me` is none of mapper, twin"),
        ("mmap-lock", "cpu-load", "-1", "`-1` is not the number of a CPU; or write auto"),
        ("mmap-lock", "nosuch", "1", "there is no parameter `nosuch`"),
        ("mmap-lock", "quick", "1", "there is no parameter `quick`"),
        ("blocking-nif", "calls", "x", "`x` is not a whole number; or write auto"),
        ("blocking-nif", "fixes", "x", "`x` is none of dirty, charge, and no emulator flags"),
        ("busy-wait", "quota", "0", "0 is not between 0.01 and 1000; or write none"),
        ("busy-wait", "quota", "x", "`x` is not a number; or write none"),
        ("mailbox-flood", "fixes", "x", "`x` is none of off_heap, threshold, credit"),
    ] {
        assert_eq!(meta(id).read(name, text), Err(wanted.to_owned()), "{id} --{name} {text}");
    }
    let flags = meta("busy-wait").read("flags", "-eval x").unwrap_err();
    assert!(flags.contains("`-eval` cannot be used here"), "{flags}");
    let many = meta("mmap-lock").read("busy", &vec!["1"; 21].join(",")).unwrap_err();
    assert_eq!(many, "21 values are too many; at most 20");
}

#[test]
fn values_are_canonical() {
    for (id, name, text, wanted) in [
        ("mmap-lock", "lead", "0.3s", "300ms"),
        ("mmap-lock", "busy", " 0, 10 ", "0,10"),
        ("mmap-lock", "size", "1G", "1GiB"),
        ("busy-wait", "quota", "0.50", "0.5"),
        ("busy-wait", "flags", " +sbwt  none ", "+sbwt none"),
        ("busy-wait", "fixes", "+S 1:1;;+sbwt none;", "+S 1:1; +sbwt none"),
        ("blocking-nif", "otp", "auto, /a/erl", "auto,/a/erl"),
    ] {
        let value = meta(id).read(name, text).unwrap();
        assert_eq!(value.to_string(), wanted, "{id} --{name} {text}");
    }
    let busy = |text: &str| meta("mmap-lock").read("busy", text).unwrap();
    assert_eq!(busy("10"), Value::Number(10));
    assert_eq!(busy("0,10"), Value::Numbers(vec![0, 10]));
}

#[test]
fn every_fix_makes_a_command_that_can_be_run() {
    for scenario in ALL {
        let (meta, defaults) = (scenario.meta(), scenario.meta().defaults(false));
        for fix in meta.fixes {
            let fixed = (fix.change)(&defaults).unwrap();
            let changed =
                fixed.0.iter().filter(|(name, value)| defaults.0.get(*name) != Some(value));
            let words = changed.flat_map(|(name, value)| [format!("--{name}"), value.to_string()]);
            let words: Vec<String> = words.collect();
            assert_eq!(settings(*scenario, &words), fixed);
            assert!((fix.change)(&Settings::default()).is_some());
        }
    }
    let tags = meta("mmap-lock").tags.iter();
    let with = |file: &str| {
        let mut settings = meta("mmap-lock").defaults(false);
        settings.set("procfile", Value::Text(file.to_owned()));
        tags.clone().filter(|tag| (tag.matters)(&settings)).count()
    };
    assert_eq!((with("smaps"), with("maps"), with("smaps_rollup")), (0, 1, 1));
}

#[test]
fn a_file_of_proc_cannot_leave_its_process() {
    for bad in ["", "/etc/passwd", "../1/smaps", "a/../../b", "x y", "a//b", "fd/1", "root/x"] {
        assert!(bad.parse::<ProcFile>().is_err(), "{bad}");
    }
    for good in ["smaps", "net/dev", "smaps_rollup"] {
        assert!(good.parse::<ProcFile>().is_ok(), "{good}");
    }
}

#[test]
fn programs_are_paths_or_the_one_on_the_path() {
    let paths = |text: &str| text.parse::<Programs>().unwrap().words();
    assert_eq!(paths("auto"), [None]);
    assert_eq!(paths("/a/erl,/b"), [Some("/a/erl".into()), Some("/b".into())]);
    assert_eq!(Programs::default().words(), [None]);
    assert!("".parse::<Programs>().is_err() && "/a,,/b".parse::<Programs>().is_err());
}

#[test]
fn a_suggested_run_names_suites_and_no_paths() {
    let of = |text: &str| text.parse::<Programs>().unwrap().asked_by_name().to_string();
    for suites in ["debian:bookworm", "debian:bookworm,debian:trixie"] {
        assert_eq!(of(suites), suites);
    }
    for other in ["auto", "/opt/otp/bin/erl", "otp", "debian:trixie,/opt/otp", "/debian:trixie"] {
        assert_eq!(of(other), "auto", "{other}");
    }
}

#[test]
fn flags_stand_behind_flags() {
    let flags = |text: &'static str| literal::<ErlFlags>(text);
    assert_eq!(flags("+S 1:1").and(&flags("+sbwt none")), flags("+S 1:1 +sbwt none"));
    assert_eq!(flags("").and(&flags("+sbwt none")), flags("+sbwt none"));
    assert_eq!(flags("+S 1:1").and(&flags("")), flags("+S 1:1"));
    assert!("none -eval x".parse::<FlagValue>().is_err() && "".parse::<FlagValue>().is_err());
}

/// Text in source code that would look up a setting by its name.
const LOOK_UPS: [&str; 9] = [
    ".0.get(",
    "settings.0",
    ".text(\"",
    ".number(\"",
    ".numbers(\"",
    ".decimal(\"",
    ".duration(\"",
    ".size(\"",
    "settings.set(",
];

#[test]
fn no_scenario_looks_a_setting_up_by_its_name() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![source.clone()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            // In these files, names come from outside: a flag, a key of a study file, or the name
            // in a test.
            let by_name = [source.join("params"), source.join("testing.rs")].contains(&path);
            if path.is_dir() && !by_name {
                folders.push(path);
            } else if !by_name && path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let found = LOOK_UPS.iter().find(|look_up| text.contains(*look_up));
                assert_eq!(found, None, "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "{seen} files");
}

/// Checks that a parsed value is written in such a way that it is parsed back, as text and as
/// JSON.
fn comes_back<T>(text: &str) -> Result<(), TestCaseError>
where
    T: FromStr<Err = String> + Display + PartialEq + Debug + Serialize + DeserializeOwned,
{
    if let Ok(value) = text.parse::<T>() {
        let again = value.to_string().parse::<T>();
        prop_assert_eq!(again.as_ref(), Ok(&value));
        let json = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), &value);
    }
    Ok(())
}

/// Texts that may be valid values.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,8}(\\.[0-9]{1,5})?(ns|us|ms|s|min|h|B|KiB|MiB|GiB|TiB)?",
        "(auto|none|default|dirty|charge|credit|off_heap|smaps|/a/b)(,|; ?)?(auto|\\+S 1|/c)?",
        "[0-9a-zA-Z,._/ ;:+-]{0,24}",
        ".{0,40}",
    ]
}

proptest! {
    #[test]
    fn what_is_read_can_be_written_and_read_again(text in texts()) {
        comes_back::<Time>(&text)?;
        comes_back::<Size>(&text)?;
        comes_back::<Decimal>(&text)?;
        comes_back::<Auto<Cpu>>(&text)?;
        comes_back::<OrNone<Decimal>>(&text)?;
        comes_back::<ProcFile>(&text)?;
        comes_back::<Auto<Folder>>(&text)?;
        comes_back::<Programs>(&text)?;
        comes_back::<ErlFlags>(&text)?;
        comes_back::<FlagValue>(&text)?;
        comes_back::<List<ErlFlags>>(&text)?;
        comes_back::<List<blocking_nif::NifFix>>(&text)?;
        comes_back::<List<mailbox_flood::FloodFix>>(&text)?;
        comes_back::<blocking_nif::Mode>(&text)?;
        comes_back::<YesNo>(&text)?;
    }

    #[test]
    fn what_is_read_lies_in_its_range(text in texts()) {
        if let Ok(number) = whole(-20_i32..=19)(&text) {
            prop_assert!((-20..=19).contains(&number));
        }
        if let Ok(Auto::Is(number)) = auto(whole(3_u32..=99))(&text) {
            prop_assert!((3..=99).contains(&number));
        }
        if let Ok(numbers) = counts(0..=1000, 3)(&text) {
            prop_assert!((1..=3).contains(&numbers.all().len()) && numbers.most() <= 1000);
        }
        if let Ok(time) = between(Time::ms(1)..=Time::s(60))(&text) {
            prop_assert!((Time::ms(1)..=Time::s(60)).contains(&time));
        }
        if let Ok(time) = whole_us(Time::ZERO..=Time::s(60))(&text) {
            prop_assert!(time.get().subsec_nanos().is_multiple_of(1000));
        }
        if let Ok(size) = between(Size::kib(1)..=Size::mib(1))(&text) {
            prop_assert!((1 << 10..=1 << 20).contains(&size.get()));
        }
    }

}

proptest! {
    // Each case parses a command line for each parameter of every scenario.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_a_flag_takes_it_takes_again(text in texts()) {
        for scenario in ALL {
            for parameter in (scenario.meta().parameters.all)() {
                if let Ok(value) = scenario.meta().read(parameter.name, &text) {
                    let again = scenario.meta().read(parameter.name, &value.to_string());
                    prop_assert_eq!(again, Ok(value));
                }
            }
        }
    }
}
