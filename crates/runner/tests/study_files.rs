//! Study files: their content, their errors, and the arms that they make.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fake_scenario;

use fake_scenario::{FAKE, FILE, PATH, layout, read};
use model::problem::ArmsProblem;
use model::{Fact, Machine, Problem, Role, Settings, WhyLeftOut};
use proptest::prelude::*;
use scenarios::ScenarioError;
use scenarios::mmap_lock::{MmapLockParams, Target};
use scenarios::params::{Params, Time};
use std::path::Path;
use std::time::Duration;
use tailback_runner::studies::{Design, Layout, MOST_ARMS, StudyError, lay_out};

/// The error of a file that differs from a good one in these lines.
fn wrong(change: &[(&str, &str)]) -> String {
    let mut text = FILE.to_owned();
    for (from, to) in change {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    read(&text).unwrap_err().to_string()
}

fn params(settings: &Settings) -> MmapLockParams {
    MmapLockParams::of(settings).unwrap()
}

fn ids(layout: &Layout) -> Vec<&str> {
    layout.arms.arms.iter().map(|arm| arm.id.as_str()).collect()
}

#[test]
fn a_file_is_read_in_its_ordinary_and_in_its_quick_form() {
    let design = read(FILE).unwrap();
    assert_eq!(
        (design.name.as_str(), design.scenario, design.seed),
        ("rows", "mmap-lock", Some(7))
    );
    assert_eq!(design.time, Some(Duration::from_secs(300)));
    assert_eq!(
        (design.blocks.least, design.blocks.most, design.blocks.until_settled),
        (2, 8, true)
    );
    assert_eq!(params(&design.settings).duration, Time::ms(100));
    let quick = Design::read(FILE, Path::new(PATH), true).unwrap();
    assert_eq!((quick.blocks.least, quick.blocks.most, quick.blocks.until_settled), (3, 3, false));
    let quickly = params(&quick.settings);
    assert_eq!((quickly.lead, quickly.duration), (Time::ZERO, Time::ms(100)));
    assert_eq!(quick.combinations(Path::new(PATH)), Ok(2));
    assert_eq!(quick.content, design.content);
}

#[test]
fn every_combination_is_an_arm_with_its_parameters() {
    let design = read(FILE).unwrap();
    let layout = layout(&design);
    assert_eq!(
        ids(&layout),
        [
            "busy=0,procfile=smaps",
            "busy=0,procfile=maps",
            "busy=1,procfile=smaps",
            "busy=1,procfile=maps",
            "busy=10,procfile=smaps",
            "busy=10,procfile=maps"
        ]
    );
    let roles: Vec<Role> = layout.arms.arms.iter().map(|arm| arm.role).collect();
    assert_eq!(roles[0], Role::Control, "its levels hold no cause, so it is the control");
    assert!(roles[1..].iter().all(|role| *role == Role::Case));
    let last = params(&layout.arms.arms[5].settings);
    assert_eq!((last.busy.single(), last.procfile.as_str()), (Some(10), "maps"));
    assert_eq!(last.duration, Time::ms(100));
    assert_eq!(layout.factorial.cells.len(), 6);
    assert_eq!(layout.factorial.control, ["0", "smaps"]);
}

#[test]
fn a_control_with_the_cause_has_the_scenarios_control_beside_it_unless_it_is_to_be_it_itself() {
    let cause = [("{ busy = 0,", "{ busy = 10,")];
    let text = FILE.replacen(cause[0].0, cause[0].1, 1);
    let of = layout(&read(&text).unwrap());
    assert_eq!((ids(&of)[0], of.arms.arms[0].role), ("control", Role::Control));
    assert_eq!(params(&of.arms.arms[0].settings).busy.single(), Some(0));
    assert_eq!((of.arms.arms.len(), of.factorial.cells.len()), (7, 6));
    let itself = text.replacen("seed", "against = \"cell\"\nseed", 1);
    let of = layout(&read(&itself).unwrap());
    assert_eq!((ids(&of)[0], of.arms.arms[0].role), ("busy=10,procfile=smaps", Role::Control));
    assert_eq!((of.arms.arms.len(), of.factorial.cells.len()), (6, 6));
}

/// The arms of the real scenario, and not of the fake scenario.
fn real_layout(text: &str) -> Layout {
    let cpus = [0, 1].map(|id| model::machine::Cpu { id, core: None, package: None, node: None });
    let machine = Machine { cpus: cpus.into(), allowed_cpus: vec![0, 1], ..Machine::default() };
    let folder = tempfile::tempdir().unwrap();
    let roots = host::Roots::at(folder.path());
    std::fs::create_dir_all(roots.proc.join("self")).unwrap();
    for file in ["smaps", "maps"] {
        std::fs::write(roots.proc.join("self").join(file), "x").unwrap();
    }
    let host = scenarios::Host {
        roots: &roots,
        machine: &machine,
        otps: &scenarios::erlang::Otps::default(),
    };
    let design = read(text).unwrap();
    let combinations = design.combinations(Path::new(PATH)).unwrap();
    lay_out(&design, design.scenario().unwrap(), &host, combinations).unwrap()
}

fn against<'a>(layout: &'a Layout, id: &str) -> Option<&'a str> {
    layout.arms.arms.iter().find(|arm| arm.id == id).unwrap().against.as_deref()
}

#[test]
fn a_combination_brings_the_control_that_its_scenario_holds_it_against() {
    let text = include_str!("../../../studies/proc-vs-map.toml");
    let of = real_layout(text);
    assert_eq!(
        ids(&of)[..5],
        ["busy=0", "control of busy=1", "busy=1", "control of busy=10", "busy=10"]
    );
    assert_eq!(of.arms.arms.len(), 9);
    assert_eq!(of.arms.arms[0].role, Role::Baseline, "nothing is held against it");
    assert_eq!(against(&of, "busy=10"), Some("control of busy=10"));
    let control = &of.arms.arms[3];
    assert_eq!((control.role, params(&control.settings).target), (Role::Control, Target::Twin));
    assert_eq!((of.factorial.cells.len(), &of.factorial.control), (5, &vec!["0".to_owned()]));
}

#[test]
fn a_shared_control_stays_where_a_combination_has_none_of_its_own_and_else_goes() {
    let of = real_layout(FILE);
    assert_eq!((ids(&of)[0], of.arms.arms[0].role), ("busy=0,procfile=smaps", Role::Control));
    assert_eq!(against(&of, "busy=0,procfile=maps"), None);
    assert_eq!(against(&of, "busy=1,procfile=maps"), Some("control of busy=1,procfile=maps"));
    let text = FILE.replacen("[0, 1, 10]", "[1, 10]", 1).replacen("{ busy = 0,", "{ busy = 1,", 1);
    let text = text.replacen("[0, 10]", "[1, 10]", 1).replacen("{ busy = 0,", "{ busy = 1,", 1);
    let of = real_layout(&text);
    assert!(!ids(&of).contains(&"control"));
    assert_eq!((of.arms.arms.len(), of.factorial.cells.len()), (8, 4));
    let itself = text.replacen("seed", "against = \"cell\"\nseed", 1);
    let of = real_layout(&itself);
    assert_eq!((of.arms.arms.len(), of.arms.arms[0].role), (4, Role::Control));
    assert!(of.arms.arms.iter().all(|arm| arm.against.is_none()));
}

#[test]
fn levels_with_names_set_several_parameters_and_one_may_be_held_against_itself() {
    let text = r#"
        scenario = "mmap-lock"
        control = { load = "none" }
        [factors.load]
        none = { busy = 0 }
        again = { busy = 0 }
        much = { busy = 10, nice = 0 }
    "#;
    let layout = layout(&read(text).unwrap());
    assert_eq!(ids(&layout), ["load=none", "load=again", "load=much"]);
    assert_eq!(params(&layout.arms.arms[2].settings).nice, 0);
    assert_eq!(layout.arms.arms[1].settings, layout.arms.arms[0].settings);
}

#[test]
fn what_the_machine_refuses_is_left_out_and_the_rest_runs() {
    let text = FILE.replacen("[0, 1, 10]", "[0, 1, 13]", 1);
    let of = layout(&read(&text).unwrap());
    let out: Vec<&str> = of.arms.left_out.iter().map(|arm| arm.id.as_str()).collect();
    assert_eq!(out, ["busy=13,procfile=smaps", "busy=13,procfile=maps"]);
    let WhyLeftOut::Refused { why } = &of.arms.left_out[0].why else { panic!("{out:?}") };
    assert_eq!(*why, Problem::Scenario(Fact::new("unlucky")));
    assert_eq!((of.arms.arms.len(), of.factorial.cells.len()), (4, 4));
    let machine = Machine::default();
    let roots = host::Roots::at("/nonexistent");
    let host = scenarios::Host {
        roots: &roots,
        machine: &machine,
        otps: &scenarios::erlang::Otps::default(),
    };
    let text = text.replacen("{ busy = 0,", "{ busy = 13,", 1);
    let refused = lay_out(&read(&text).unwrap(), &FAKE, &host, 6).unwrap_err();
    let (arm, why) = ("busy=13,procfile=smaps".to_owned(), Box::new(why.clone()));
    assert_eq!(refused, ScenarioError::Unusable(ArmsProblem::ControlNotHad { arm, why }.into()));
}

/// Line and column of each error, and the words that help.
#[test]
fn mistakes_are_named_with_line_and_column_and_near_misses_are_suggested() {
    let cases: [(&[(&str, &str)], &str); 23] = [
        (
            &[("seed = 7", "output = { report = \"page.pdf\" }")],
            "rows.toml:7:21: a report is text; name a file that ends in .txt",
        ),
        (
            &[("time =", "tme =")],
            "rows.toml:6:1: unknown key `tme` in a study file; did you mean `time`?",
        ),
        (
            &[("mmap-lock", "mmap-lok")],
            "rows.toml:2:12: unknown scenario `mmap-lok`; did you mean `mmap-lock`?",
        ),
        (&[("scenario =", "seed2 =")], "rows.toml:2:1: unknown key `seed2`"),
        (
            &[("busy = [0, 1, 10]", "buzy = [0, 1, 10]")],
            "rows.toml:13:1: factors: mmap-lock has no parameter `buzy`; did you mean `busy`?",
        ),
        (
            &[("duration = \"100ms\"", "duratoin = \"1s\"")],
            "rows.toml:10:1: fixed: mmap-lock has no parameter `duratoin`; did you mean `duration`?",
        ),
        (&[("100ms", "100")], "rows.toml:10:12: `duration`: `100` is not a duration"),
        (&[("[0, 1, 10]", "[]")], "rows.toml:13:8: factor `busy` has no level"),
        (&[("[\"smaps\", \"maps\"]", "{}")], "rows.toml:14:12: factor `procfile` has no level"),
        (&[("[0, 1, 10]", "[0, 1, 1]")], "rows.toml:13:15: factor `busy` has level `1` twice"),
        (&[("[0, 1, 10]", "[0, -1]")], "rows.toml:13:12: `busy`: -1 is not between 0 and 10000"),
        (
            &[("[0, 1, 10]", "[0, [1]]")],
            "rows.toml:13:12: a value of `busy` is one value as on the command line, but this is of type array",
        ),
        (&[("[0, 1, 10]", "7")], "rows.toml:13:8: factor `busy` is a list"),
        (
            &[("duration = \"100ms\"", "busy = 1")],
            "rows.toml:13:1: factor `busy` varies parameter `busy`, which is fixed too",
        ),
        (
            &[("procfile = [\"smaps\", \"maps\"]", "x = { a = { busy = 1 } }")],
            "rows.toml:14:1: factors `busy` and `x` both set parameter `busy`",
        ),
        (
            &[("{ busy = 0, procfile = \"smaps\" }", "{ busy = 2, procfile = \"smaps\" }")],
            "rows.toml:4:20: factor `busy` has no level `2`; known are 0, 1, 10",
        ),
        (
            &[("{ busy = 0, procfile = \"smaps\" }", "{ busy = 0 }")],
            "rows.toml:4:11: control names no level of factor `procfile`",
        ),
        (
            &[("{ busy = 0, procfile = \"smaps\" }", "{ busi = 0 }")],
            "rows.toml:4:13: unknown key `busi` in control",
        ),
        (&[("least = 2", "least = 9")], "rows.toml:5:10: blocks: least is 9, and most is 8"),
        (&[("seed = 7", "seed = -7")], "rows.toml:7:8: seed is a whole number from 0"),
        (
            &[("factors.procfile = [\"maps\"]", "factors.x = { a = {} }")],
            "rows.toml:20:9: the file has no factor `x` to make smaller",
        ),
        (
            &[("seed = 7", "against = \"me\"")],
            "rows.toml:7:11: against is `scenario` or `cell`, and not `me`",
        ),
        (&[("seed = 7", "seed = = 7")], "rows.toml:7:8: no TOML: "),
    ];
    for (change, expected) in cases {
        let message = wrong(change);
        assert!(message.starts_with(expected), "{change:?}:\n{message}\n{expected}");
        assert!(!message.contains('\n'), "{message}");
    }
    let nothing = read("scenario = \"mmap-lock\"").unwrap_err().to_string();
    assert!(nothing.contains("no table `factors`"), "{nothing}");
    let nothing = read("").unwrap_err().to_string();
    assert!(nothing.starts_with("rows.toml:1:1: no key `scenario`"), "{nothing}");
}

#[test]
fn a_study_of_too_many_arms_is_refused_before_any_is_made() {
    let levels: Vec<String> =
        (0..1000).map(|n| format!("l{n} = {{ nice = {} }}", n % 20)).collect();
    let other = levels.join("\n").replace("nice", "busy");
    let text = format!(
        "scenario = \"mmap-lock\"\n[factors.a]\n{}\n[factors.b]\n{other}\n",
        levels.join("\n")
    );
    let error = read(&text).unwrap().combinations(Path::new(PATH)).unwrap_err();
    let expected = StudyError::TooMany { path: PATH.into(), arms: 1_000_000, most: MOST_ARMS };
    assert_eq!(error, expected);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,300}") {
        let _ = read(&text);
    }

    /// Texts that are nearly right get further than noise does.
    #[test]
    fn no_damaged_file_makes_the_reader_panic(
        from in 0..FILE.len(), length in 0usize..40, put in "[a-z0-9\\[\\]{}=\", .\n\u{e9}]{0,12}",
    ) {
        let to = (from + length).min(FILE.len());
        let text = format!("{}{put}{}", &FILE[..from], &FILE[to..]);
        for quick in [false, true] {
            match Design::read(&text, Path::new(PATH), quick) {
                Ok(design) => prop_assert!(design.combinations(Path::new(PATH)).is_ok()),
                Err(StudyError::Bad { line, .. }) => {
                    prop_assert!(line <= text.matches('\n').count() + 1);
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }

    #[test]
    fn combinations_are_all_there_and_each_is_there_once(sizes in prop::collection::vec(1usize..5, 1..5)) {
        let mut text = "scenario = \"mmap-lock\"\n".to_owned();
        let names = ["busy", "nice", "lead", "pause"];
        for (name, size) in names.iter().zip(&sizes) {
            text.push_str(&format!("[factors.f-{name}]\n"));
            (0..*size).for_each(|l| text.push_str(&format!("l{l} = {{ {name} = \"{}\" }}\n", 0)));
        }
        let design = read(&text).unwrap();
        let count = design.combinations(Path::new(PATH)).unwrap();
        prop_assert_eq!(count, sizes.iter().product::<usize>());
        let all: std::collections::BTreeSet<Vec<usize>> = (0..count).map(|n| design.levels(n)).collect();
        prop_assert_eq!(all.len(), count);
        prop_assert!(all.iter().all(|levels| levels.iter().zip(&sizes).all(|(l, s)| l < s)));
    }
}

#[test]
fn what_was_found_before_is_kept_for_the_levels_that_are_run() {
    let text = format!("{FILE}\n[found.busy]\n1 = \"slow\"\n10 = \"dead\"\n");
    let found = |quick| {
        let design = Design::read(&text, Path::new(PATH), quick).unwrap();
        design.found.iter().map(|f| format!("{} {}: {}", f.factor, f.level, f.words)).collect()
    };
    let (all, quick): (Vec<String>, Vec<String>) = (found(false), found(true));
    assert_eq!(all, ["busy 1: slow", "busy 10: dead"]);
    assert_eq!(quick, ["busy 10: dead"]);
    for (wrong, words) in [
        ("[found.bussy]\n1 = \"slow\"", "did you mean `busy`"),
        ("[found.busy]\n2 = \"slow\"", "no level `2`"),
        ("[found.busy]\n1 = 3", "found.busy"),
    ] {
        let error = read(&format!("{FILE}\n{wrong}\n")).unwrap_err().to_string();
        assert!(error.contains(words), "{wrong}: {error}");
    }
}

#[test]
fn a_difference_that_does_not_count_in_one_arm_counts_in_none() {
    let lengths = FILE
        .replace("duration = \"100ms\"", "lead = \"0\"")
        .replace("control = { busy = 0, ", "control = { duration = \"5s\", busy = 0, ")
        .replacen("[factors]\n", "[factors]\nduration = [\"5s\", \"100ms\"]\n", 1);
    let design = read(lengths.split("[quick]").next().unwrap()).unwrap();
    let plan = layout(&design).plan(&design, scenarios::find("mmap-lock").unwrap(), 7);
    assert!((plan.judging.margin - 50.0).abs() < 1e-9, "{}", plan.judging.margin);
}
