//! Pages, comparisons, histories and exports, with good input, bad input, and a lot of input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::story::{hostile, story};
use common::{Place, Ran, affected_record};
use model::{Facts, Judged};
use scenarios::mmap_lock::MmapLockParams;
use scenarios::params::Params;

/// Size limit of a page, in bytes.
const MOST: usize = 1_500_000;

fn put(place: &Place, name: &str, text: &str) -> String {
    let path = place.path(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Fails unless the run was refused with one line that contains each of these words, and wrote
/// nothing.
fn assert_refused(place: &Place, ran: &Ran, all: &[&str]) {
    ran.assert_no_panic();
    assert_eq!((ran.code(), ran.out.as_str()), (2, ""), "{ran:?}");
    assert_eq!(ran.wrongs().len(), 1, "{ran:?}");
    for word in all {
        assert!(ran.wrongs()[0].contains(word), "`{word}` is missing in {ran:?}");
    }
    assert!(!place.path("page.html").exists(), "{ran:?}");
}

/// The commands that take several records, each with a good record before this one.
fn say_all(place: &Place, record: &str) -> [Ran; 3] {
    let good = put(place, "good.json", &affected_record().to_string());
    let page = place.path("page.html");
    let page = page.to_str().unwrap();
    [
        place.say(&["report", &good, record, "-o", page]),
        place.say(&["compare", &good, record, "-o", page]),
        place.say(&["export", "--format", "csv", &good, record, "-o", page]),
    ]
}

#[test]
fn what_is_no_record_is_refused_by_every_command() {
    let place = Place::new();
    let whole = affected_record().to_string();
    let mut newer = affected_record();
    newer["schema"] = "tailback/record/4".into();
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let cases: [(&str, &str); 6] = [
        ("", "not a whole record"),
        (&whole[..whole.len() / 2], "another copy"),
        ("[1,2]", "not a record"),
        (&newer.to_string(), "newer"),
        (r#"{"schema":"tailback/record/3","trials":[]}"#, "does not hold together"),
        (&deep, "record"),
    ];
    for (text, why) in cases {
        let path = put(&place, "bad.json", text);
        for ran in say_all(&place, &path) {
            assert_refused(&place, &ran, &["bad.json", why]);
        }
    }
    for ran in say_all(&place, "/nosuch.json") {
        assert_refused(&place, &ran, &["/nosuch.json", "name a record"]);
    }
}

#[test]
fn a_folder_is_refused_with_what_is_in_it() {
    let place = Place::new();
    let state = place.path("state");
    for ran in say_all(&place, state.to_str().unwrap()) {
        assert_refused(&place, &ran, &["a folder without records"]);
    }
    std::fs::write(state.join("a.json"), "").unwrap();
    for ran in say_all(&place, state.to_str().unwrap()) {
        assert_refused(&place, &ran, &["a folder", "*.json (1 found)"]);
    }
}

#[test]
fn commands_without_records_say_how_they_are_used() {
    let place = Place::new();
    for args in
        [&["report"][..], &["report", "-o", "x"], &["compare", "a"], &["export"], &["history"]]
    {
        let ran = place.say(args);
        ran.assert_no_panic();
        assert_eq!((ran.code(), ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains("Usage:"), "{ran:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_named_and_a_record_is_never_replaced() {
    let place = Place::new();
    let record = put(&place, "good.json", &affected_record().to_string());
    let state = place.path("state");
    for bad in ["/nosuch/page.html", "/proc/page.html", "/dev/null", state.to_str().unwrap()] {
        let ran = place.say(&["report", &record, "-o", bad]);
        assert_refused(&place, &ran, &[bad, "can be written"]);
    }
    let ran = place.say(&["export", "--format", "csv", &record, "-o", &record]);
    assert_refused(&place, &ran, &["good.json", "never overwritten"]);
    let ran = place.say(&["check", "--report", &record]);
    assert_refused(&place, &ran, &["--report", "not overwritten"]);
    assert_eq!(std::fs::read_to_string(&record).unwrap(), affected_record().to_string());
}

#[test]
fn a_record_from_before_the_latest_fields_is_read() {
    let place = Place::new();
    let mut old = affected_record();
    old["plan"].as_object_mut().unwrap().remove("left_out");
    old["plan"].as_object_mut().unwrap().remove("also");
    old.as_object_mut().unwrap().remove("judgement");
    let old = put(&place, "old.json", &old.to_string());
    let ran = place.say(&["report", &old, "-o", "-"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.starts_with("<!DOCTYPE html>"), "{ran:?}");
}

#[test]
fn ten_thousand_trials_and_a_thousand_records_fit_a_page() {
    let place = Place::new();
    let mut many = scenarios::judged(Facts::from_json(&affected_record().to_string()).unwrap());
    let one = put(&place, "one.json", &many.to_json());
    for trial in &mut many.trials {
        trial.observation.stalls = (0..5).map(|at| stall(f64::from(at))).collect();
    }
    let trials = many.trials.clone();
    many.trials = (0..10_000).map(|at| trials[at % trials.len()].clone()).collect();
    let path = put(&place, "many.json", &many.to_json());
    let ran = place.say(&["report", &path, "-o", "-"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.len() < MOST && ran.out.contains("evenly spaced"), "{}", ran.out.len());
    let mut args = vec!["report", "-o", "-"];
    args.extend(std::iter::repeat_n(one.as_str(), 1000));
    let ran = place.say(&args);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.len() < MOST, "{}", ran.out.len());
    assert!(ran.out.contains("of 1000 records are drawn"), "what is left out is not said");
}

fn stall(at: f64) -> model::record::Stall {
    model::record::Stall { at_ms: at * 2.0, took_ms: 1.5, operation: "mmap".into() }
}

#[test]
fn damaged_and_absurd_figures_are_drawn_around() {
    let place = Place::new();
    let mut record = story();
    for (at, trial) in record.trials.iter_mut().enumerate() {
        let absurd = [f64::MAX, -f64::MAX, 1e-300, 0.0, -0.0][at % 5];
        for measure in trial.observation.measures.values_mut() {
            measure.value = absurd;
        }
        trial.observation.window_ms = absurd;
        for latency in trial.observation.latencies.values_mut() {
            latency.data = "AAAA".into();
        }
        for series in trial.observation.series.values_mut() {
            series.at_ms.iter_mut().for_each(|at| *at = absurd);
        }
    }
    let path = put(&place, "absurd.json", &record.to_json());
    for args in [&["report", "-o", "-", &path][..], &["compare", &path, &path]] {
        let ran = place.say(args);
        ran.assert_no_panic();
        // The page contains the record in base64, in which any sequence of letters may occur.
        let words = ran.out.split([' ', '\n', '"']).filter(|word| word.len() < 1000);
        let shown = words.collect::<Vec<&str>>().join(" ");
        assert!(!shown.contains("NaN") && !shown.contains(">inf"), "{ran:?}");
    }
}

#[test]
fn a_record_of_an_unknown_scenario_is_shown_all_the_same() {
    let place = Place::new();
    let path = put(&place, "hostile.json", &hostile("\u{1b}[2J<b>").to_json());
    for format in ["csv", "openmetrics", "markdown", "junit"] {
        let ran = place.say(&["export", "--format", format, &path]);
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(!ran.out.contains('\u{1b}'), "{format}: {ran:?}");
        assert!(format != "junit" || !ran.out.contains("<b>"), "{format}: {ran:?}");
        assert!(format != "markdown" || !ran.out.contains("| [2J<b>"), "{format}: {ran:?}");
    }
    let ran = place.say(&["compare", &path, &path]);
    assert!(!ran.out.contains("\u{1b}[2J") && !ran.err.contains("\u{1b}[2J"), "{ran:?}");
    let ran = place.say(&["report", &path, "-o", "-"]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(!ran.out.contains("<b>"), "{ran:?}");
}

/// A record whose case loses about `much` ms/s, in each of eight blocks.
fn losing(much: f64, procfile: &str) -> Judged {
    let mut record = story();
    let trials = record.trials.clone();
    record.plan.arms.retain(|arm| arm.id != "nice-0");
    record.trials = (0..8).flat_map(|block| of_block(&trials, block, much)).collect();
    for arm in &mut record.plan.arms {
        let params = MmapLockParams::of(&arm.settings).unwrap();
        arm.settings = MmapLockParams { procfile: procfile.parse().unwrap(), ..params }.settings();
    }
    scenarios::judged(record.facts)
}

fn of_block(trials: &[model::Trial], block: u32, much: f64) -> Vec<model::Trial> {
    let of = |arm: &str, lost: f64| {
        let mut trial = trials.iter().find(|trial| trial.arm == arm).unwrap().clone();
        let noise = f64::from(block % 3);
        let stall = model::Measure::exact(lost + noise, model::Unit::MillisecondsPerSecond);
        trial.observation.measures.insert("stall".into(), stall);
        trial.observation.hang = false;
        model::Trial { block, ..trial }
    };
    vec![of("control", 0.0), of("busy-10", much)]
}

/// Six pairs of runs in random order. Returns the files before, then the files after.
fn in_pairs(place: &Place, name: &str, before: f64, after: f64) -> [Vec<String>; 2] {
    let save = |side: &str, number: u32, first: bool, much: f64| {
        let mut record = losing(much + f64::from(number), "smaps");
        record.pair = Some(model::Pair { seed: 7, number, first });
        record.started = format!("2026-01-01T00:{number:02}:0{}Z", u32::from(!first));
        put(place, &format!("{name}-{side}{number}.json"), &record.to_json())
    };
    let numbers = 1..=6;
    [
        numbers.clone().map(|number| save("before", number, number != 2, before)).collect(),
        numbers.map(|number| save("after", number, number == 2, after)).collect(),
    ]
}

fn compare(place: &Place, [before, after]: &[Vec<String>; 2], more: &[&str]) -> Ran {
    let words = |files: &[String]| files.to_vec();
    let mut args = vec!["compare".to_owned(), "--before".to_owned()];
    args.extend(words(before));
    args.push("--after".to_owned());
    args.extend(words(after));
    args.extend(more.iter().map(|word| (*word).to_owned()));
    place.say(&args.iter().map(String::as_str).collect::<Vec<&str>>())
}

#[test]
fn one_record_a_side_differs_at_most() {
    let place = Place::new();
    let little = put(&place, "little.json", &losing(20.0, "smaps").to_json());
    let much = put(&place, "much.json", &losing(900.0, "maps").to_json());
    for (before, after) in [(&little, &much), (&much, &little)] {
        let ran = place.say(&["compare", "--json", before, after]);
        assert_eq!(ran.code(), 0, "{ran:?}");
        let change = ran.json();
        assert_eq!((&change["state"], &change["basis"]), (&"differs".into(), &"blocks".into()));
        let comparison = &change["arms"][1]["measures"]["stall"]["comparison"];
        let (low, high) =
            (comparison["low"].as_f64().unwrap(), comparison["high"].as_f64().unwrap());
        assert!(low <= high && low.abs() > 870.0 && high.abs() > 870.0, "{comparison}");
    }
    let ran = place.say(&["compare", &little, &little]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("no-difference-shown"), "{ran:?}");
    let golden = place.golden("cpu-quota");
    let ran = place.say(&["compare", &little, golden.to_str().unwrap()]);
    assert_eq!(ran.code(), 4, "{ran:?}");
    assert!(ran.out.contains("not-comparable") && ran.out.contains("cpu-quota"), "{ran:?}");
}

#[test]
fn pairs_of_runs_are_worse_or_better() {
    let place = Place::new();
    let page = place.path("change.html");
    let page = page.to_str().unwrap();
    let sides = in_pairs(&place, "up", 20.0, 900.0);
    let ran = compare(&place, &sides, &["-o", page]);
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.out.contains("worse") && ran.out.contains("21 to 26"), "{ran:?}");
    assert!(ran.out.lines().count() < 25, "{ran:?}");
    let drawn = std::fs::read_to_string(page).unwrap();
    assert!(drawn.len() < MOST && drawn.contains("state-worse"), "{}", drawn.len());
    let ran = compare(&place, &in_pairs(&place, "down", 900.0, 20.0), &["--json"]);
    assert_eq!((ran.code(), &ran.json()["state"]), (0, &"better".into()), "{ran:?}");
    let ran = compare(&place, &in_pairs(&place, "same", 20.0, 20.0), &["--json"]);
    assert_eq!((ran.code(), &ran.json()["state"]), (0, &"no-difference-shown".into()), "{ran:?}");
    let [before, after] = &sides;
    let ran = compare(&place, &[before[..5].to_vec(), after.clone()], &["--json"]);
    assert_eq!((ran.code(), &ran.json()["state"]), (0, &"differs".into()), "{ran:?}");
    let ran = compare(&place, &[before.clone(), before.clone()], &[]);
    assert_eq!(ran.code(), 4, "{ran:?}");
    assert!(ran.out.contains("same record"), "{ran:?}");
}

#[test]
fn a_comparison_is_asked_for_in_one_way() {
    let place = Place::new();
    let record = put(&place, "r.json", &losing(20.0, "smaps").to_json());
    let r = record.as_str();
    for args in [
        &["compare", "--before", r][..],
        &["compare", "--after", r],
        &["compare", r, r, r],
        &["compare", r, r, "--before", r, "--after", r],
        &["compare", r, r, "--run", r, r],
        &["compare", "--run", r],
        &["compare", "--run", r, r, "--across", "host"],
        &["compare", r, r, "--pairs", "3"],
    ] {
        let ran = place.say(args);
        ran.assert_no_panic();
        assert_eq!((ran.code(), ran.out.as_str()), (2, ""), "{ran:?}");
    }
    let ran = place.say(&["compare", r, r, "--across", "nosuch"]);
    assert_refused(&place, &ran, &["--across nosuch", "host, kernel, otp, tailback"]);
}

#[test]
fn a_history_follows_the_records_of_its_folder() {
    let place = Place::new();
    let kept = place.path("kept");
    std::fs::create_dir(&kept).unwrap();
    let save = |name: &str, started: &str, much: f64| {
        let mut record = losing(much, "smaps");
        record.started = started.to_owned();
        std::fs::write(kept.join(name), record.to_json()).unwrap();
    };
    save("b.json", "2026-01-02T00:00:00Z", 900.0);
    save("a.json", "2026-01-01T00:00:00Z", 20.0);
    std::fs::write(kept.join("no.json"), "{}").unwrap();
    let say =
        |more: &[&str]| place.say(&[&["history", "--json", kept.to_str().unwrap()], more].concat());
    let medians = |ran: &Ran| -> Vec<f64> {
        let json = ran.json();
        json.as_array().unwrap().iter().map(|l| l["estimate"]["median"].as_f64().unwrap()).collect()
    };
    let first = say(&[]);
    assert_eq!(first.code(), 0, "{first:?}");
    assert_eq!(medians(&first), [21.0, 901.0]);
    assert!(first.err.contains("1 files") && first.err.contains("not records"), "{first:?}");
    save("b.json", "2026-01-02T00:00:00Z", 400.0);
    std::fs::remove_file(kept.join("a.json")).unwrap();
    assert_eq!(medians(&say(&[])), [401.0]);
    assert_eq!(medians(&say(&["--measure", "worst"])).len(), 1);
    let ran = say(&["--measure", "nosuch"]);
    assert_refused(&place, &ran_without_note(ran), &["--measure nosuch"]);
}

/// The run without the note about a file that is no record. That note comes before the line that
/// matters.
fn ran_without_note(ran: Ran) -> Ran {
    Ran { err: ran.err.lines().filter(|l| l.starts_with("tailback")).collect(), ..ran }
}

#[test]
fn a_history_needs_records_and_not_too_many() {
    let place = Place::new();
    std::fs::write(place.path("state/a.json"), losing(20.0, "smaps").to_json()).unwrap();
    let folder = place.path("state");
    let ran = place.say(&["history", folder.to_str().unwrap()]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("busy-10"), "{ran:?}");
    std::fs::create_dir(place.path("empty")).unwrap();
    let ran = place.say(&["history", place.path("empty").to_str().unwrap()]);
    assert_refused(&place, &ran, &["no record in this folder"]);
    let ran = place.say(&["history", "/nosuch"]);
    assert_refused(&place, &ran, &["/nosuch", "folder"]);
    // More bytes than are read. The file is sparse, so it fills no disk.
    let huge = std::fs::File::create(folder.join("huge.json")).unwrap();
    huge.set_len(5 << 30).unwrap();
    let ran = place.say(&["history", folder.to_str().unwrap()]);
    assert_refused(&place, &ran, &["10000 files or 4 GiB"]);
}
