//! Studies with the kernel as a factor: their parts, and the record that the parts make together.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fake_scenario;

use fake_scenario::{FILE, read, run};
use model::{Ended, Facts, Role};
use tailback_runner::studies::{Design, together};

/// The file of the fake scenario with two kernels; its control names the second.
fn design() -> Design {
    let text = FILE
        .replacen("[factors]", "[factors]\nkernel = [\"old\", \"new\"]", 1)
        .replacen("control = { ", "control = { kernel = \"new\", ", 1)
        .replacen(
            "control = { busy = 0, procfile = \"maps\"",
            "control = { kernel = \"new\", busy = 0, procfile = \"maps\"",
            1,
        );
    let mut design = read(&text).unwrap();
    design.exactly(6);
    design
}

/// What the guest of that kernel would return.
fn part(kernel: &str) -> Facts {
    let folder = tempfile::tempdir().unwrap();
    let mut design = design();
    assert!(design.keep_kernel(kernel));
    run(&design, None, &folder.path().join("a.json"), |_| false).0.facts
}

#[test]
fn a_list_of_kernels_is_a_factor_that_sets_no_parameter() {
    let design = design();
    assert_eq!(design.kernels(), Some((vec!["old", "new"], "new")));
    assert_eq!(read(FILE).unwrap().kernels(), None);
    assert!(!design.clone().keep_kernel("none"));
    let twice = FILE.replacen("[factors]", "[factors]\nkernel = [\"old\", \"old\"]", 1);
    assert!(read(&twice).unwrap_err().to_string().contains("`old` is there twice"));
    let guest = format!("guest = {{ cpus = 4, memory = \"2GiB\", root = \"host\" }}\n{FILE}");
    let guest = read(&guest).unwrap().guest;
    assert_eq!(
        (guest.cpus, guest.memory, guest.root.as_deref()),
        (Some(4), Some(2 << 30), Some("host"))
    );
}

#[test]
fn parts_make_one_record_with_the_kernel_as_a_factor() {
    let (new, old) = (part("new"), part("old"));
    let arms = new.plan.arms.len();
    let whole = scenarios::judged(together(vec![new, old]).unwrap());
    assert_eq!(whole.plan.arms.len(), 2 * arms);
    let controls: Vec<&str> = whole
        .plan
        .arms
        .iter()
        .filter(|arm| arm.role == Role::Control)
        .map(|arm| arm.id.as_str())
        .collect();
    assert_eq!(controls, ["kernel=new,busy=0,procfile=smaps"]);
    assert!(whole.trials.windows(2).all(|pair| pair[0].block <= pair[1].block));
    assert_eq!(whole.ended, Ended::Complete);
    let factorial = whole.factorial.as_ref().unwrap();
    assert_eq!(factorial.control, ["new", "0", "smaps"]);
    let shift = |to: &str| {
        let effects = &whole.judgement.effects.as_ref().unwrap().shown;
        let alone = effects.iter().find(|e| e.changes.len() == 1 && e.changes[0].to == to);
        alone.unwrap().measures["stall"].shift
    };
    // The fake scenario loses the same amount with either kernel.
    assert_eq!(shift("old"), 0.0);
    assert!(shift("10") > 50.0);
}

#[test]
fn a_part_that_was_cut_short_makes_a_record_that_is_too() {
    let mut old = part("old");
    old.ended = Ended::Interrupted;
    old.trials.truncate(6);
    assert_eq!(together(vec![part("new"), old]).unwrap().ended, Ended::Interrupted);
    assert!(together(Vec::new()).is_none());
    let no_part = Facts { factorial: None, ..part("old") };
    assert!(together(vec![part("new"), no_part]).is_none());
}
