//! The original programs, with their options, messages and tables.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, allowed_cpus, processes, turn};
use std::process::{Child, Command};

fn compat(place: &Place, args: &[&str]) -> Ran {
    let ran = place.say(&[&["compat"], args].concat());
    assert_eq!(ran.code(), 0, "{args:?}: {ran:?}");
    ran
}

/// The words of a line. Words at these places become `?`, since they differ between runs.
fn form(line: &str, vary: &[usize]) -> String {
    let words = line.split(' ').enumerate();
    let words: Vec<&str> =
        words.map(|(index, word)| if vary.contains(&index) { "?" } else { word }).collect();
    words.join(" ")
}

/// Fails unless a word is a number with three decimals, as `%.3f` prints it.
fn assert_three_decimals(word: &str) {
    let number: f64 = word.parse().unwrap_or_else(|e| panic!("{word}: {e}"));
    assert!(number >= 0.0);
    assert_eq!(format!("{number:.3}"), word);
}

/// Fails unless the text is a date in the form of `date`: `Tue Jan 26 16:24:26 PST 2021`.
fn assert_date(text: &str) {
    let words: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(words.len(), 6, "{text}");
    assert!(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&words[0]), "{text}");
    assert!((1..=31).contains(&words[2].parse::<u32>().unwrap()), "{text}");
    assert_eq!(words[3].split(':').count(), 3, "{text}");
    assert!(words[5].parse::<u32>().unwrap() >= 2024, "{text}");
}

/// Fails unless these are the two lines of a mapper.
fn assert_lines_of_mapper(lines: &[&str], duration: u64, pages: u64, opavg: bool) {
    let first = format!("./mapper PID: ? duration: {duration} region size (pages): {pages}");
    assert_eq!(form(lines[0], &[2]), first);
    let last = format!(
        "./mapper: Map region: ? duration: {duration} nmaps: ? nunmaps: ? opmax: ? ms{}",
        if opavg { " opavg: ? ms" } else { "" }
    );
    assert_eq!(form(lines[1], &[3, 7, 9, 11, 14]), last);
    let words: Vec<&str> = lines[1].split(' ').collect();
    let region = words[3].strip_prefix("0x").unwrap_or_else(|| panic!("{}", lines[1]));
    assert!(u64::from_str_radix(region, 16).unwrap().is_multiple_of(4096), "{}", lines[1]);
    let calls: Vec<u64> = [7, 9].map(|index: usize| words[index].parse().unwrap()).into();
    // With other work on the machine, one call may take a whole second.
    assert!(duration == 0 || calls.iter().sum::<u64>() > 0, "{}", lines[1]);
    assert_three_decimals(words[11]);
    if opavg {
        assert_three_decimals(words[14]);
    }
}

#[test]
fn the_two_lines_of_the_mapper() {
    let _turn = turn::take();
    let place = Place::new();
    let page = rustix::param::page_size() as u64;
    let ran = compat(&place, &["mapper", "--duration", "1", "--mb", "8"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!((lines.len(), ran.err.as_str()), (2, ""), "{ran:?}");
    assert_lines_of_mapper(&lines, 1, (8 << 20) / page, false);
    assert!(lines[0].contains(&format!("PID: {} ", ran.pid)), "{ran:?}");
    // Numbers may be hexadecimal, as in the later form of the original.
    let ran = compat(&place, &["mapper", "--opavg", "--duration", "1", "--mb", "0x8"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert_lines_of_mapper(&lines, 1, (8 << 20) / page, true);
}

#[test]
fn a_mapper_waits_until_its_file_is_gone() {
    let _turn = turn::take();
    let place = Place::new();
    let file = place.path("wait");
    std::fs::write(&file, "").unwrap();
    let mut args = vec!["compat", "mapper", "--duration", "0", "--mb", "1", "--waitfile"];
    args.push(file.to_str().unwrap());
    let mut running = place.start(place.tailback(&args));
    let out = place.path("out");
    let says = |word: &str| std::fs::read_to_string(&out).unwrap().contains(word);
    common::wait_for("the first line", || says("region size").then_some(()));
    assert!(!running.has_ended() && !says("Map region"));
    std::fs::remove_file(&file).unwrap();
    let ran = running.end();
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.out.contains("Map region"), "{ran:?}");
}

/// A process that sleeps until it is killed. Each use needs its own, since readers watch it.
fn sleeper() -> Child {
    Command::new("sleep").arg("1000").spawn().unwrap()
}

/// Runs a watcher of a process. It must run while the process lives, and end when it is gone.
fn watch(place: &Place, args: impl Fn(&str) -> Vec<String>) -> (Ran, u32) {
    let mut target = sleeper();
    let words = [vec!["compat".to_owned()], args(&target.id().to_string())].concat();
    let mut running = place.start(place.tailback(&words));
    let pid = running.pid();
    let worked = || processes::at(pid).is_none_or(|process| process.ticks >= 5).then_some(());
    common::wait_for("the watcher to use CPU time", worked);
    let lived = !running.has_ended();
    target.kill().unwrap();
    target.wait().unwrap();
    let ran = running.end();
    assert!(lived, "it ended before its process: {ran:?}");
    assert_eq!(ran.code(), 0, "{ran:?}");
    (ran, target.id())
}

#[test]
fn busywait_ends_with_its_process() {
    let _turn = turn::take();
    let place = Place::new();
    let forms: [fn(&str) -> Vec<String>; 3] = [
        |pid| ["busywait", pid].map(str::to_owned).into(),
        |pid| ["busywait", "--pid", pid].map(str::to_owned).into(),
        |pid| ["busywait", "--busyduration", "20", "--pid", pid].map(str::to_owned).into(),
    ];
    for form in forms {
        let (ran, _) = watch(&place, form);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    }
}

#[test]
fn scanpid_ends_with_its_process_and_says_so() {
    let _turn = turn::take();
    let place = Place::new();
    let (ran, target) = watch(&place, |pid| ["scanpid", pid].map(str::to_owned).into());
    let start = format!("scanpid.sh PID {}: /proc/{target}/smaps does not exist ", ran.pid);
    let date = ran.out.strip_prefix(&start).unwrap_or_else(|| panic!("{start}: {ran:?}"));
    assert_date(date);
    assert_eq!(ran.out.lines().count(), 1, "{ran:?}");
    let (ran, target) = watch(&place, |pid| ["scanpid", pid, "maps"].map(str::to_owned).into());
    assert!(ran.out.contains(&format!("/proc/{target}/maps does not exist")), "{ran:?}");
}

#[test]
fn the_lines_of_proc_vs_map() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let cpus: Vec<String> = allowed_cpus()[..2].iter().map(usize::to_string).collect();
    let mut args = vec!["proc-vs-map", "--duration", "1", "--nbusytasks", "1", "--mb", "8"];
    args.extend(["--cpumapper", &cpus[0], "--cpuscript", &cpus[0], "--cpubusytasks", &cpus[1]]);
    let ran = compat(&place, &args);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[0], format!(" --- ./proc-vs-map.sh {}", args[1..].join(" ")));
    let date = lines[1].strip_prefix("Starting 1-second test at ").unwrap();
    assert_date(date.strip_suffix('.').unwrap());
    let mask = format!("pid {}'s current affinity mask: ", ran.pid);
    let mask = lines[2].strip_prefix(&mask).unwrap_or_else(|| panic!("{ran:?}"));
    assert!(u128::from_str_radix(mask, 16).unwrap() >= 3, "{ran:?}");
    let new = format!("pid {}'s new affinity mask: {:x}", ran.pid, 1u128 << allowed_cpus()[0]);
    assert_eq!(lines[3], new);
    let pages = (8 << 20) / rustix::param::page_size() as u64;
    assert_lines_of_mapper(&lines[lines.len() - 2..], 1, pages, false);
    // Only notes about a late mapper may come between.
    let between = &lines[4..lines.len() - 2];
    let late = ["./mapper still", "./mapper STILL", "Terminated: "];
    assert!(between.iter().all(|line| late.iter().any(|start| line.starts_with(start))), "{ran:?}");
    processes::wait_until_gone(ran.pid);
}

#[test]
fn proc_vs_map_warns_where_everything_is_on_one_cpu() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let cpu = allowed_cpus()[0].to_string();
    let mut args = vec!["proc-vs-map", "--duration", "0", "--nbusytasks", "0", "--mb", "1"];
    args.extend(["--cpumapper", &cpu, "--cpuscript", &cpu, "--cpubusytasks", &cpu]);
    let ran = compat(&place, &args);
    let mapper = format!("Running ./mapper and the busy scripts on CPU {cpu}!!!\n");
    let script = format!("Running the main script and the busy scripts on CPU {cpu}!!!\n");
    assert!(ran.out.contains(&mapper) && ran.out.contains(&script), "{ran:?}");
}

#[test]
fn the_table_of_run_proc_vs_map() {
    if !common::two_cpus_or_skip() {
        return;
    }
    let _turn = turn::take();
    let place = Place::new();
    let cpus: Vec<String> = allowed_cpus()[..2].iter().map(usize::to_string).collect();
    let mut args = vec!["run-proc-vs-map", "--nsamples", "1", "--", "--duration", "0"];
    args.extend(["--mb", "1", "--cpumapper", &cpus[0], "--cpuscript", &cpus[0]]);
    args.extend(["--cpubusytasks", &cpus[1]]);
    let ran = compat(&place, &args);
    let banner = format!("Running ./run-proc-vs-map.sh {}\n", args[1..].join(" "));
    let head = "\n\t Worst-case mmap()/munmap()\n\t   latency (milliseconds)\n\
                \t --------------------------\n#Busy    Median   Minimum   Maximum #Hangs\n";
    let rest = ran.out.strip_prefix(&banner).unwrap_or_else(|| panic!("{ran:?}"));
    let rows = rest.strip_prefix(head).unwrap_or_else(|| panic!("{ran:?}"));
    let rows = rows.strip_suffix("\n\n").unwrap_or_else(|| panic!("{ran:?}"));
    let busy: Vec<u64> = rows.lines().map(assert_row).collect();
    assert_eq!(busy, [0, 1, 10, 100, 1000]);
    processes::wait_until_gone(ran.pid);
}

/// Fails unless the row has the form `%5d %9.3f %9.3f %9.3f %6s`. Returns its first number.
fn assert_row(row: &str) -> u64 {
    let words: Vec<&str> = row.split_whitespace().collect();
    let busy: u64 = words[0].parse().unwrap();
    let [median, least, most] = [1, 2, 3].map(|index: usize| words[index].parse::<f64>().unwrap());
    let hangs = words.get(4).copied().unwrap_or_default();
    assert_eq!(format!("{busy:5} {median:9.3} {least:9.3} {most:9.3} {hangs:>6}"), row);
    assert!(hangs.is_empty() || hangs == "*1", "{row}");
    assert!(least <= median && median <= most, "{row}");
    busy
}

#[test]
fn each_program_prints_its_options() {
    let place = Place::new();
    for name in ["mapper", "busywait", "scanpid", "proc-vs-map", "run-proc-vs-map"] {
        for help in ["--help", "-h"] {
            let ran = compat(&place, &[name, help]);
            assert!(ran.out.contains(&format!("Usage: {name}")), "{ran:?}");
            assert_eq!(ran.err, "", "{ran:?}");
        }
    }
}
