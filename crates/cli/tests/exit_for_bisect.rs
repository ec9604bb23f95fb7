//! Exit codes for `git bisect run`: a commit must not be called bad where nothing was measured.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, turn};

/// The exit codes of a run, without and with `--exit-for bisect`.
fn codes(place: &Place, words: &[&str], path: Option<&str>) -> [i32; 2] {
    [&[][..], &["--exit-for", "bisect"]].map(|more| {
        let mut command = place.tailback(&[&["run"], words, more].concat());
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let ran = place.run(command);
        ran.assert_no_panic();
        ran.code()
    })
}

#[test]
fn what_says_nothing_about_a_commit_skips_it_and_what_no_commit_can_fix_stops() {
    let _turn = turn::take();
    let place = Place::new();
    // One block settles nothing.
    let one = ["mmap-lock", "--samples", "1", "--quick", "--no-probe", "--no-fixes", "--fresh"];
    let one = [&one[..], &["--size", "4MiB"]].concat();
    if common::two_cpus_or_skip() {
        assert_eq!(codes(&place, &one, None), [4, 125]);
    }
    // A need is missing: an Erlang VM.
    let folder = place.path("");
    let empty = folder.to_str().unwrap();
    assert_eq!(codes(&place, &["blocking-nif"], Some(empty)), [3, 125]);
    // A command line that no commit makes right.
    for words in [&["mmap-lock", "--nosuch"][..], &["nosuch"], &["cpu-quota", "--on-cpus", "4096"]]
    {
        assert_eq!(codes(&place, words, None), [2, 128], "{words:?}");
    }
}
