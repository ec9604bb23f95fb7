//! `tailback watch` beside Erlang nodes that know nothing of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran};
use host::cgroup::{Bandwidth, BandwidthGroup, ParentGroup};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testing::{has_or_skip, root_or_skip, skipped};

/// A cookie that must be nowhere.
const COOKIE: &str = "geheimerkeks";

/// A native function that sleeps, as no native function may.
const NAP: &str = r#"
#include <erl_nif.h>
#include <unistd.h>
static ERL_NIF_TERM nap(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
	usleep(30000);
	return argv[0];
}
static ErlNifFunc all[] = {{"nap", 1, nap}};
ERL_NIF_INIT(nap, all, 0, 0, 0, 0)
"#;

const NAP_ERL: &str = "-module(nap).
-export([nap/1, load/0, begin/0]).
-on_load(load/0).
load() -> erlang:load_nif(\"./nap\", 0).
nap(_) -> erlang:nif_error(none).
'begin'() -> [spawn(fun L() -> nap(1), L() end) || _ <- lists:seq(1, 8)].
";

/// A node that ends with the test.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Node {
    /// A node with these flags that evaluates this and then waits, in a folder.
    fn start(folder: &Path, flags: &[&str], eval: &str, group: Option<&BandwidthGroup>) -> Self {
        let mut command = Command::new("erl");
        command.current_dir(folder).args(["-noshell", "-noinput", "-setcookie", COOKIE]);
        command.args(flags).args(["-eval", &format!("{eval}, timer:sleep(infinity).")]);
        // epmd would outlive the test.
        command.args(["-start_epmd", "false"]).env("ERL_CRASH_DUMP_SECONDS", "0");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let node = Node(command.spawn().unwrap());
        if let Some(group) = group {
            group.add(node.0.id()).unwrap();
        }
        node
    }

    fn pid(&self) -> u64 {
        self.0.id().into()
    }

    /// Waits until it has begun to work.
    fn wait(&self) {
        let until = Instant::now() + Duration::from_secs(30);
        let name = format!("/proc/{}/comm", self.0.id());
        while Instant::now() < until {
            let is_there = |tid: std::fs::DirEntry| {
                let name = std::fs::read_to_string(tid.path().join("comm")).unwrap_or_default();
                name.contains("scheduler") || name.starts_with("erts_sched")
            };
            let task = format!("/proc/{}/task", self.0.id());
            let mut all = std::fs::read_dir(task).into_iter().flatten().flatten();
            if std::fs::read_to_string(&name).is_ok_and(|name| name.starts_with("beam"))
                && all.any(is_there)
            {
                std::thread::sleep(Duration::from_millis(500));
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the node did not start");
    }
}

fn seen(ran: &Ran) -> Value {
    ran.assert_no_panic();
    assert!(!ran.out.contains(COOKIE) && !ran.err.contains(COOKIE), "the cookie is shown");
    let last = ran.out.lines().last().unwrap_or_else(|| panic!("{ran:?}"));
    serde_json::from_str::<Value>(last).unwrap()["live"].clone()
}

fn can_run() -> bool {
    let has = |program: &str| {
        let found = Command::new(program).arg("-version").output();
        has_or_skip(found.is_ok(), program)
    };
    root_or_skip() && has("erl") && has("erlc") && has("gcc")
}

/// Compiles the module and its native function.
fn build_nap(folder: &Path) {
    std::fs::write(folder.join("nap.c"), NAP).unwrap();
    std::fs::write(folder.join("nap.erl"), NAP_ERL.replace("begin/0", "'begin'/0")).unwrap();
    let root = ["-noshell", "-eval", "io:format(\"~ts\", [code:root_dir()]), halt()."];
    let root = Command::new("erl").args(root).output().unwrap().stdout;
    let include = format!("-I{}/usr/include", String::from_utf8(root).unwrap());
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-shared", "-fPIC", &include, "-o", "nap.so", "nap.c"]);
    assert!(gcc.current_dir(folder).status().unwrap().success());
    assert!(Command::new("erlc").arg("nap.erl").current_dir(folder).status().unwrap().success());
}

fn of_node<'a>(live: &'a Value, kind: &str, node: &Node) -> Option<&'a Value> {
    let all = live["findings"].as_array().unwrap();
    all.iter().find(|one| !one["kind"][kind].is_null() && one["victim"]["pid"] == node.pid())
}

#[test]
fn native_code_and_schedulers_beyond_a_quota_show_from_outside() {
    let Ok(parent) = ParentGroup::find(&host::Roots::real()) else {
        skipped("no groups can be made here");
        return;
    };
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    build_nap(folder.path());
    let group = BandwidthGroup::create(&parent).unwrap();
    group.set(&Bandwidth { quota_us: 20_000, period_us: 100_000, burst_us: 0 }).unwrap();
    let sleeps = Node::start(folder.path(), &["+S", "2:2"], "nap:'begin'()", None);
    let loops = "[spawn(fun L() -> lists:seq(1, 999), L() end) || _ <- lists:seq(1, 8)]";
    let limited = Node::start(folder.path(), &["+S", "4:4"], loops, Some(&group));
    let idle = Node::start(folder.path(), &["+S", "1:1"], "ok", None);
    [&sleeps, &limited, &idle].into_iter().for_each(Node::wait);
    let live = seen(&Place::new().say(&["watch", "--for", "4s", "--json"]));
    if !has_or_skip(live["sources"][0]["missing"].is_null(), &live["sources"][0]) {
        return;
    }
    let found = of_node(&live, "native-call", &sleeps).unwrap_or_else(|| panic!("{live:#}"));
    let facts = &found["kind"]["native-call"];
    assert_eq!((&facts["place"]["file"], &facts["sleeps"]), (&"nap.so".into(), &true.into()));
    // From Linux 5.15 on; the function is static, and the file names it all the same.
    assert_eq!(facts["place"]["symbol"], "nap", "{found}");
    assert!(found["worst_ms"].as_f64().unwrap() >= 25.0, "{found}");
    assert_eq!(found["run"]["scenario"], "blocking-nif");
    let found = of_node(&live, "more-schedulers", &limited).unwrap_or_else(|| panic!("{live:#}"));
    let facts = &found["kind"]["more-schedulers"];
    assert_eq!((&facts["online"], &facts["chosen"]), (&4.into(), &true.into()));
    assert_eq!(found["run"]["parameters"]["quota"], "0.2");
    for kind in ["native-call", "busy-wait", "more-schedulers"] {
        assert!(of_node(&live, kind, &idle).is_none(), "{live:#}");
    }
    assert!(of_node(&live, "native-call", &limited).is_none(), "{live:#}");
}
