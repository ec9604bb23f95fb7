//! The binary as a module of Ansible, called as Ansible calls a module, and the flags of all
//! launchers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{BINARY, Place, Ran, files, turn};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Ansible's folder with the module and its arguments.
fn copied(place: &Place, arguments: &str) -> PathBuf {
    let folder = place.path("remote/ansible-tmp-1");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(BINARY, folder.join("AnsiballZ_tailback")).unwrap();
    std::fs::write(folder.join("args"), arguments).unwrap();
    folder
}

fn command(place: &Place, folder: &Path) -> Command {
    let mut command = place.program(folder.join("AnsiballZ_tailback").to_str().unwrap());
    command.arg(folder.join("args"));
    command
}

fn module(place: &Place, arguments: &str) -> Ran {
    let ran = place.run(command(place, &copied(place, arguments)));
    ran.assert_no_panic();
    assert_eq!(ran.err, "", "Ansible may mix it into the answer");
    assert_eq!(ran.out.lines().count(), 1, "{ran:?}");
    assert_nothing_left(place);
    ran
}

fn assert_nothing_left(place: &Place) {
    let mut left = files(&place.path("remote"));
    left.extend(
        common::files(&place.path("")).into_iter().filter(|path| {
            path.file_name().unwrap().to_str().unwrap().starts_with("tailback-module")
        }),
    );
    left.extend(place.records());
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn a_module_answers_with_brief_records_and_leaves_nothing() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let ran = module(
        &place,
        r#"{"host_name": "web1", "scenarios": ["mmap-lock"], "quick": true, "budget": "1s",
            "salt": "a secret of sixteen bytes", "_ansible_check_mode": false}"#,
    );
    let answer = ran.json();
    assert_eq!(
        (ran.code(), &answer["changed"], &answer["failed"]),
        (0, &false.into(), &false.into())
    );
    let brief: serde_json::Value =
        serde_json::from_str(answer["briefs"][0].as_str().unwrap()).unwrap();
    assert_eq!(brief["scenario"], "mmap-lock");
    assert!(brief["host"]["hash"].is_string(), "{brief}");
}

#[test]
fn check_mode_says_what_would_be_run() {
    let place = Place::new();
    let arguments = r#"{"scenarios": ["mmap-lock"], "parameters": {"busy": 4},
        "_ansible_check_mode": true, "_ansible_verbosity": 0}"#;
    let answer = module(&place, arguments).json();
    assert_eq!(answer["msg"], "would run: tailback run mmap-lock --busy=4 --brief --no-probe");
    assert!(answer["identity"]["kernel"].is_string(), "{answer}");
    assert_eq!(answer["briefs"], serde_json::json!([]));
}

#[test]
fn options_that_make_no_sense_are_told_in_one_line() {
    for (arguments, why) in [
        ("{", "EOF"),
        (r#"{"scenarios": ["mmap-lok"]}"#, "mmap-lok"),
        (r#"{"budget": "soon"}"#, "not a duration"),
        (r#"{"scenarios": ["mmap-lock"], "parameters": {"busy": "many"}}"#, "many"),
        (r#"{"scenarios": ["mmap-lock"], "salt": "short"}"#, "16 bytes"),
    ] {
        let place = Place::new();
        let ran = module(&place, arguments);
        let answer = ran.json();
        assert_eq!(answer["failed"], true, "{arguments}");
        assert!(answer["msg"].as_str().unwrap().contains(why), "{arguments}: {answer}");
        assert_ne!(ran.code(), 0);
    }
}

#[test]
fn a_module_ends_when_nobody_waits_for_its_answer() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let folder = copied(&place, r#"{"scenarios": ["mmap-lock"], "jitter": "100s"}"#);
    let mut command = command(&place, &folder);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Its folder exists before it waits for anything.
    let work = common::wait_for("its folder", || {
        let mut all = files(&place.path("")).into_iter();
        all.find(|path| path.to_str().unwrap().contains("tailback-module"))
    });
    drop(child.stdout.take());
    let ended = common::wait_for("its end", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(130));
    assert!(!work.exists());
    assert_nothing_left(&place);
}

#[test]
fn a_folder_that_was_put_in_the_place_of_ansibles_keeps_its_files() {
    let place = Place::new();
    let arguments = r#"{"scenarios": ["mmap-lock"], "jitter": "100s"}"#;
    let folder = copied(&place, arguments);
    let mut command = command(&place, &folder);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    common::wait_for("its folder", || {
        let mut all = files(&place.path("")).into_iter();
        all.find(|path| path.to_str().unwrap().contains("tailback-module"))
    });
    let [moved, other] = ["moved", "other"].map(|name| place.path(name));
    std::fs::rename(&folder, &moved).unwrap();
    std::fs::create_dir(&other).unwrap();
    let kept = ["args", "AnsiballZ_tailback"].map(|name| other.join(name));
    kept.iter().for_each(|path| std::fs::write(path, "").unwrap());
    std::os::unix::fs::symlink(&other, &folder).unwrap();
    drop(child.stdout.take());
    let ended = common::wait_for("its end", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(130));
    assert!(kept.iter().all(|path| path.exists()));
    assert_eq!(files(&moved), Vec::<PathBuf>::new());
}

#[test]
fn brief_records_go_into_a_file_of_a_folder_whatever_the_verdict() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let into = place.path("fleet/answers");
    let ran = place.say(&[
        "check",
        "--only",
        "mmap-lock",
        "--quick",
        "--time",
        "1s",
        "--brief",
        "--exit-zero",
        "--host-name",
        "web 1",
        "--jitter",
        "1ms",
        "--into",
        into.to_str().unwrap(),
    ]);
    assert_eq!((ran.code(), ran.out.as_str()), (0, ""), "{ran:?}");
    let found = files(&into);
    assert_eq!(found.len(), 1);
    assert!(found[0].file_name().unwrap().to_str().unwrap().starts_with("web 1-"));
    assert_eq!(common::json(&found[0])["host"]["name"], "web 1");
    let census = place.say(&["census", into.to_str().unwrap()]);
    assert!(census.out.starts_with("1 host"), "{census:?}");
}
