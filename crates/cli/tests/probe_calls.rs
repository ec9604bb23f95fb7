//! Calls of a library function in a real node that makes a known number of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Running, erlang_or_skip, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::process::Command;
use testing::root_or_skip;

/// Number of processes in the node that make updates.
const WORKERS: u64 = 8;

/// Number of updates of each process.
const UPDATES: u64 = 500;

/// Size of an update in bytes. It is small enough that crypto makes one call of it.
const BYTES: u64 = 1000;

/// A node that prints `ready` and waits for a file `go`. Then it makes its updates, prints
/// `done`, and ends when there is a file `end`.
fn node(place: &Place) -> Command {
    let file = |name: &str| format!("\"{}\"", place.path(name).display());
    let program = format!(
        "{{module, crypto}} = code:ensure_loaded(crypto),
         Wait = fun Wait(File) ->
             filelib:is_file(File) orelse begin timer:sleep(5), Wait(File) end
         end,
         ok = file:write_file({}, <<>>),
         Wait({}),
         Data = binary:copy(<<7>>, {BYTES}),
         Update = fun(_, Context) -> crypto:hash_update(Context, Data) end,
         Work = fun() ->
             crypto:hash_final(lists:foldl(Update, crypto:hash_init(md5), lists:seq(1, {UPDATES})))
         end,
         Workers = [spawn_monitor(Work) || _ <- lists:seq(1, {WORKERS})],
         [receive {{'DOWN', Ref, process, Pid, normal}} -> ok end || {{Pid, Ref}} <- Workers],
         ok = file:write_file({}, <<>>),
         Wait({}),
         halt().",
        file("ready"),
        file("go"),
        file("done"),
        file("end"),
    );
    let mut command = place.program("erl");
    command.args(["-noshell", "-noinput", "-eval", &program]);
    command
}

/// The library with the digest functions that the node has mapped.
fn libcrypto(pid: u32) -> Option<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let path = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let name = path.filter_map(|path| path.rsplit('/').next());
    name.filter(|name| name.starts_with("libcrypto.so")).map(str::to_owned).next()
}

fn count<'a>(place: &'a Place, pid: u32, library: &str) -> Running<'a> {
    let pid = pid.to_string();
    let args = ["probe", "calls", "--pid", &pid, "--lib", library, "--symbol", "MD5_Update"];
    place.start(place.tailback(&[&args[..], &["--size-arg", "3", "--json"]].concat()))
}

/// Whether counting works. If this kernel or this build cannot count, prints that the test is
/// skipped.
fn counts_or_skip(counter: &mut Running) -> bool {
    let counts = wait_for("a count", || match counter.err() {
        err if err.contains("counting calls of MD5_Update") => Some(true),
        _ if counter.has_ended() => Some(false),
        _ => None,
    });
    let err = counter.err();
    if !counts {
        assert!(err.contains("eBPF: "), "{err}");
        testing::skipped(err);
    }
    counts
}

#[test]
fn the_calls_of_all_cpus_add_up_to_those_that_were_made() {
    if !erlang_or_skip() || !root_or_skip() {
        return;
    }
    let (of_node, of_tool) = (Place::new(), Place::new());
    let touch = |name: &str| std::fs::write(of_node.path(name), "").unwrap();
    let is_there = |name: &str| of_node.path(name).exists().then_some(());
    let node = of_node.start(node(&of_node));
    wait_for("a node with crypto", || is_there("ready"));
    let Some(library) = libcrypto(node.pid()) else {
        testing::skipped("this OTP has its digests from no libcrypto of its own");
        return;
    };
    let mut counter = count(&of_tool, node.pid(), &library);
    if !counts_or_skip(&mut counter) {
        return;
    }
    touch("go");
    wait_for("updates", || is_there("done"));
    counter.signal(Signal::INT);
    let ran = counter.end();
    touch("end");
    assert!(node.end().status.success());
    assert_eq!(ran.code(), 0, "{ran:?}");
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    let cpus = last["total"]["cpus"].as_object().unwrap();
    let sum = |what: &str| cpus.values().map(|cpu| cpu[what].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("calls"), WORKERS * UPDATES, "{ran:?}");
    assert_eq!(sum("bytes"), WORKERS * UPDATES * BYTES, "{ran:?}");
    let allowed = common::allowed_cpus();
    assert!(cpus.keys().all(|cpu| allowed.contains(&cpu.parse().unwrap())), "{ran:?}");
}
