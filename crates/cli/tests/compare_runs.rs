//! `tailback compare --run` from outside: pairs of runs, refused input, and an interruption.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, processes, turn};
use rustix::process::Signal;
use serde_json::Value;
use std::path::PathBuf;

/// A study of a single pair of arms, as short as possible.
fn file(place: &Place, name: &str, more: &str) -> String {
    let text = format!(
        "scenario = \"mmap-lock\"\nblocks = 2\nfactors.busy = [1]\n[fixed]\nduration = \"20ms\"\n\
         hang-after = \"20ms\"\nsize = \"4MiB\"\n{more}"
    );
    let path = place.path(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The records in the folder of a comparison: for each pair that counts, the record after the
/// change, then the one before it.
fn kept(place: &Place) -> Vec<PathBuf> {
    let mut files = common::files(&place.path("kept"));
    files.retain(|file| !file.to_str().unwrap().ends_with(".left-out.json"));
    files.sort();
    files
}

fn run(place: &Place, more: &[&str]) -> Ran {
    let (before, after) = (
        file(place, "before.toml", "procfile = \"smaps\""),
        file(place, "after.toml", "procfile = \"maps\"\n"),
    );
    let kept = place.path("kept");
    let args =
        ["compare", "--run", &before, &after, "--records", kept.to_str().unwrap(), "--seed", "7"];
    place.say(&[&args[..], more].concat())
}

#[test]
fn pairs_are_made_in_random_order_and_their_records_say_so() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let ran = run(&place, &["--pairs", "4", "--json"]);
    assert!([0, 4].contains(&ran.code()), "{ran:?}");
    assert!(ran.err.contains("worse and better need 6 pairs"), "{ran:?}");
    let records: Vec<Value> = kept(&place).iter().map(|path| common::json(path)).collect();
    // A disturbed machine may leave out pairs, three at most.
    let all = ran.err.matches("is left out").count() < 3;
    assert!(!all || records.len() == 8, "{:?}", kept(&place));
    assert!(!all || ran.json()["before"].as_array().unwrap().len() == 4);
    for two in records.chunks(2) {
        assert_eq!(two[0]["pair"]["number"], two[1]["pair"]["number"]);
        assert_ne!(two[0]["pair"]["first"], two[1]["pair"]["first"]);
        assert_eq!(two[0]["plan"]["seed"], two[1]["plan"]["seed"]);
        assert_eq!(two.iter().map(|one| one["trials"].as_array().unwrap().len()).sum::<usize>(), 8);
    }
    let first: Vec<&Value> = records.iter().step_by(2).map(|one| &one["pair"]["first"]).collect();
    let both = first.iter().any(|one| **one != *first[0]);
    assert!(!all || both, "seed 7 has both orders: {first:?}");
    // A folder holds the pairs of only one comparison.
    let again = run(&place, &["--pairs", "1"]);
    assert_eq!((again.code(), again.complaints().len()), (2, 1), "{again:?}");
    assert!(again.err.contains("name another folder"), "{again:?}");
}

#[test]
fn an_interruption_keeps_the_pairs_that_are_whole() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    for tries in 1.. {
        let place = Place::new();
        let ran = interrupted_after_three_pairs(&place);
        if !ran.err.contains("pairs could not be used") {
            return assert_keeps_whole_pairs(&place, &ran);
        }
        // It ends by itself when the machine disturbs three pairs.
        assert!(tries < 3, "disturbed three times: {ran:?}");
        eprintln!("run again, since it ended by itself: {ran:?}");
    }
}

/// Interrupts a comparison once three pairs are whole, unless it ends by itself before that.
fn interrupted_after_three_pairs(place: &Place) -> Ran {
    let before = file(place, "before.toml", "procfile = \"smaps\"");
    let folder = place.path("kept");
    let args = ["compare", "--run", &before, &before, "--records", folder.to_str().unwrap()];
    let mut running = place.start(place.tailback(&[&args[..], &["--pairs", "100"]].concat()));
    // The records of pairs that were left out have another name.
    common::wait_for("two pairs and a third", || {
        let whole = |number| folder.join(format!("pair-{number:02}-after.json")).exists();
        let has_three = (1..10).filter(|number| whole(*number)).count() >= 3;
        (has_three || running.has_ended()).then_some(())
    });
    if !running.has_ended() {
        running.signal(Signal::INT);
    }
    let ran = running.end();
    processes::wait_until_gone(ran.pid);
    ran
}

fn assert_keeps_whole_pairs(place: &Place, ran: &Ran) {
    assert_eq!(ran.code(), 130, "{ran:?}");
    assert!(ran.out.starts_with("mmap-lock: "), "what they show is said: {ran:?}");
    let names: Vec<String> = kept(place)
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    let of = |end: &str| names.iter().filter(|name| name.ends_with(end)).count();
    let whole = of("-before.json");
    assert!(whole >= 2 && of("-after.json") == whole, "{names:?}");
    assert!(ran.err.contains(&format!("interrupted; {whole} complete pairs are kept")), "{ran:?}");
}

#[test]
fn a_record_that_is_not_in_its_folder_is_told_by_words_and_code() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let text = std::fs::read_to_string(file(&place, "short.toml", "procfile = \"smaps\"")).unwrap();
    let (study, folder) = (place.path("long.toml"), place.path("kept"));
    std::fs::write(&study, text.replace("blocks = 2", "blocks = 8")).unwrap();
    let (study, kept) = (study.to_str().unwrap(), folder.to_str().unwrap());
    let args = ["compare", "--run", study, study, "--records", kept, "--pairs", "1"];
    let running = place.start(place.tailback(&args));
    let files = common::wait_for("a block of each side", || {
        let mut files = common::files(&folder);
        // Skip the file that is still being written.
        files.retain(|file| file.extension().is_some_and(|end| end == "json"));
        Some(files).filter(|files| files.len() == 2)
    });
    // A file cannot replace a folder.
    for file in files {
        common::wait_for("a folder in place of a record", || {
            std::fs::remove_file(&file).and_then(|()| std::fs::create_dir(&file)).ok()
        });
    }
    let ran = running.end();
    // On a disturbed machine the pair is made again, and then cannot be kept.
    if ran.err.contains("is left out") {
        assert_ne!(ran.code(), 0, "{ran:?}");
        return;
    }
    assert_eq!(ran.code(), 3, "{ran:?}");
    assert!(ran.err.matches("the record was kept as").count() == 2, "{ran:?}");
    assert!(ran.out.starts_with("mmap-lock: "), "what the pair shows is said: {ran:?}");
}

#[test]
fn a_time_that_is_up_ends_it() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let ran = run(&place, &["--for", "1ms"]);
    assert!([0, 4].contains(&ran.code()), "{ran:?}");
    let left_out = ran.err.contains("is left out");
    assert!(left_out || kept(&place).len() == 2, "one pair is made however long it takes: {ran:?}");
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_run() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let place = Place::new();
    let good = file(&place, "good.toml", "");
    let write = |name: &str, text: &str| {
        let path = place.path(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let busier = std::fs::read_to_string(&good).unwrap().replace("[1]", "[2]");
    let busier = write("busier.toml", &busier);
    let longer = write("longer.toml", "scenario = \"mmap-lock\"\nfactors.busy = [1]\n");
    let quota = write("quota.toml", "scenario = \"preempted-holder\"\nfactors.threads = [3]\n");
    let kernels = write(
        "kernels.toml",
        "scenario = \"mmap-lock\"\n[factors]\nkernel = [\"debian:6.1\", \"debian:6.12\"]\n",
    );
    for (other, words) in [
        (busier.as_str(), "no arm with the cause is in both"),
        (&longer, "judged by different figures or margins"),
        (&quota, "of mmap-lock and preempted-holder"),
        (&kernels, "compare kernels with tailback matrix"),
        ("/nonexistent.toml", "name a study file"),
    ] {
        let ran = place.say(&["compare", "--run", &good, other]);
        assert_eq!((ran.code(), ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.complaints().len() == 1 && ran.err.contains(words), "{words}: {ran:?}");
    }
    assert!(place.records().is_empty(), "nothing is run");
}
