//! `tailback watch` with users who connect to it and put files in its way. It continues, answers,
//! keeps its data, and ends when asked to.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{BINARY, Place, Running};
use rustix::process::Signal;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No program has this name, so nothing on this machine is a finding.
const NOBODY: &[&str] = &["--comm", "no-such-program"];

/// Limit of the time until it ends after a signal. It may wait 11 s for its last interval on a busy
/// machine. One that waits for its clients would never end.
const SOON: Duration = Duration::from_secs(60);

/// Time of a watch that ends by itself. A watch that has read no interval does not end with exit
/// code 0, and on a busy machine the first interval may take longer than a second. Watch closes a
/// connection after 5 s, so this time is shorter.
const SHORT: &str = "3s";

const SCRAPE: &str = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

/// Starts `watch` with these words and this limit of file descriptors.
fn start<'a>(place: &'a Place, args: &[&str], descriptors: u32) -> Running<'a> {
    let mut command = place.program("sh");
    command.arg("-c").arg(format!("ulimit -n {descriptors}; exec \"$@\"")).arg("sh");
    command.arg(BINARY).arg("watch").args(args).args(NOBODY);
    place.start(command)
}

/// The address at which a watch serves its figures.
fn address(running: &Running) -> SocketAddr {
    common::wait_for("an address", || {
        let said = running.err();
        let rest = said.split_once("metrics: http://")?.1.to_owned();
        rest.split_once("/metrics\n")?.0.parse().ok()
    })
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(common::PATIENCE)).unwrap();
    stream
}

/// Writes until the other side closes, accepts nothing for a while, or `most` bytes are written.
fn write_much(mut stream: &TcpStream, bytes: &[u8], most: usize) {
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut written = 0;
    while written < most {
        match stream.write(bytes) {
            Ok(length) => written += length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn scrape(address: SocketAddr) -> String {
    let mut stream = connect(address);
    stream.write_all(SCRAPE.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The peak memory of a process so far, in KiB.
fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn whatever_clients_do_it_answers_stays_small_and_ends() {
    let place = Place::new();
    let running = start(&place, &["--listen", "127.0.0.1:0"], 1024);
    let address = address(&running);
    let figures = |text: &str| {
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("# EOF\n"), "{text}");
        text.contains("tailback_watch_folded_names").then_some(())
    };
    common::wait_for("figures", || figures(&scrape(address)));
    let before = peak_kib(running.pid());

    let body = connect(address);
    (&body).write_all(b"POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n").unwrap();
    figures(&scrape(address));
    let idle: Vec<TcpStream> = (0..600).map(|_| connect(address)).collect();
    figures(&scrape(address));
    let endless = connect(address);
    (&endless).write_all(b"GET / HTTP/1.1\r\nA: ").unwrap();
    write_much(&endless, &[b'a'; 1 << 16], 256 << 20);
    figures(&scrape(address));
    let pipelined = connect(address);
    write_much(&pipelined, SCRAPE.repeat(2_000).as_bytes(), 16 << 20);
    figures(&scrape(address));
    let grown = peak_kib(running.pid()) - before;
    assert!(grown < 64 << 10, "{grown} KiB more");

    // All these connections are still open, and each second another client connects. A watch that
    // waits for its clients would never end. The thread ends once a client cannot connect.
    std::thread::spawn(move || {
        let mut more = Vec::new();
        while let Ok(stream) = TcpStream::connect(address) {
            more.push(stream);
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    running.signal(Signal::TERM);
    let ran = running.end_within(SOON);
    drop((body, idle, endless, pipelined));
    ran.assert_no_panic();
    assert_eq!((ran.code(), ran.wrongs()), (0, Vec::new()), "{ran:?}");
}

#[test]
fn a_client_that_sends_no_body_does_not_keep_it_from_its_end() {
    let place = Place::new();
    let connected = |_| {
        let running = start(&place, &["--listen", "127.0.0.1:0", "--for", SHORT], 1024);
        // On a busy machine, it may have ended before this test connects.
        let body = TcpStream::connect(address(&running)).ok()?;
        Some((running, body))
    };
    let (running, body) = (0..5).find_map(connected).expect("it ended before, five times");
    (&body).write_all(b"POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n").unwrap();
    let ran = running.end();
    drop(body);
    assert_eq!(ran.code(), 0, "{ran:?}");
}

/// Starts a watch with a ring, and waits for its first interval. Each line of output is an
/// interval.
fn start_ring<'a>(place: &'a Place, record: &Path) -> Running<'a> {
    let args = ["--json", "--ring", "1MiB", "--record", record.to_str().unwrap()];
    let running = start(place, &args, 1024);
    let out = place.path("out");
    common::wait_for("a line", || std::fs::metadata(&out).unwrap().len().checked_sub(1));
    running
}

/// Asks for a record, and waits until `written` records were written.
fn ask_for_record(running: &Running, written: usize) {
    running.signal(Signal::USR1);
    common::wait_for("a record", || {
        (running.err().matches("record: ").count() == written).then_some(())
    });
}

fn end(running: Running) -> common::Ran {
    running.signal(Signal::TERM);
    let ran = running.end();
    ran.assert_no_panic();
    assert_eq!((ran.code(), ran.wrongs()), (0, Vec::new()), "{ran:?}");
    ran
}

/// Gives a file to another user, if this user may do so.
fn give_away(path: &Path) {
    let _ = std::os::unix::fs::lchown(path, Some(65_534), Some(65_534));
}

fn is_record(path: PathBuf) -> bool {
    common::json(&path)["scenario"] == "watch"
}

#[test]
fn what_others_put_in_the_way_of_a_record_stays_and_the_next_name_is_taken() {
    let place = Place::new();
    let (folder, secret) = (place.path("w-1.json"), place.path("secret"));
    std::fs::write(&secret, "kept").unwrap();
    let running = start_ring(&place, &place.path("w.json"));
    ask_for_record(&running, 1);
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&secret, place.path("w-2.json")).unwrap();
    std::os::unix::fs::symlink(place.path("none"), place.path("w-3.json")).unwrap();
    for path in [&folder, &place.path("w-2.json"), &place.path("w-3.json")] {
        give_away(path);
    }
    ask_for_record(&running, 2);
    ask_for_record(&running, 3);
    end(running);
    assert!(["w.json", "w-4.json", "w-5.json"].iter().all(|name| is_record(place.path(name))));
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "kept");
    assert!(folder.is_dir() && !place.path("none").exists());
}

#[test]
fn a_restart_leaves_the_records_of_earlier_runs() {
    let place = Place::new();
    let record = place.path("w.json");
    let mut kept = Vec::new();
    for run in 0..2 {
        let running = start_ring(&place, &record);
        ask_for_record(&running, 1);
        end(running);
        let last = if run == 0 { record.clone() } else { place.path("w-1.json") };
        kept.push((last.clone(), std::fs::read(last).unwrap()));
    }
    assert!(kept.iter().all(|(path, text)| std::fs::read(path).unwrap() == *text));
    assert!(kept.into_iter().all(|(path, _)| is_record(path)));
}

#[test]
fn a_place_where_no_record_can_be_kept_is_refused_at_the_start() {
    let place = Place::new();
    let at = |name: &str| place.path(name).to_str().unwrap().to_owned();
    std::fs::write(place.path("notes"), "no record").unwrap();
    for (ring, record, code, words) in [
        (true, at("notes/w.json"), 2, "Not a directory"),
        (true, at(""), 2, "not the name of a file"),
        (false, at("state"), 2, "is a directory"),
        (false, at("notes"), 2, "not a record of tailback"),
        (true, "/sys/w.json".to_owned(), 3, "name a file that can be written"),
        (false, "/sys/w.json".to_owned(), 3, "name a file that can be written"),
    ] {
        // If this were accepted, the run would not end by itself.
        let mut args = vec!["--record", &record];
        args.extend(if ring { &["--ring", "1MiB"][..] } else { &["--for", "100000s"] });
        let ran = start(&place, &args, 1024).end();
        let wrongs = ran.wrongs();
        assert!(ran.code() == code && wrongs.len() == 1, "{record}: {ran:?}");
        assert!(wrongs[0].contains(words) && ran.out.is_empty(), "{record}: {ran:?}");
    }
    assert_eq!(std::fs::read_to_string(place.path("notes")).unwrap(), "no record");
}

#[test]
fn an_earlier_record_is_replaced_where_there_is_no_ring() {
    let place = Place::new();
    // Its folder is made.
    let record = place.path("new/w.json");
    for _ in 0..2 {
        let args = ["--for", SHORT, "--record", record.to_str().unwrap()];
        let ran = start(&place, &args, 1024).end();
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(is_record(record.clone()));
    }
    let records = common::files(record.parent().unwrap());
    let is_json = |file: &&PathBuf| file.extension().is_some_and(|end| end == "json");
    assert_eq!(records.iter().filter(is_json).count(), 1, "{records:?}");
}
