//! `tailback watch` with Erlang nodes that do not know about it: what shows from outside.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/node.rs"]
mod node;

use common::Place;
use common::groups::parent_or_skip;
use host::cgroup::{Bandwidth, BandwidthGroup};
use node::{Node, can_run, of_node, seen};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use testing::has_or_skip;

/// Most looks at the nodes. On a slow machine, a VM starts for some seconds, and one under a quota
/// for many.
const LOOKS: u32 = 5;

/// A native function that sleeps, which native functions must not do.
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

#[test]
fn native_code_and_schedulers_beyond_a_quota_show_from_outside() {
    let Some(parent) = parent_or_skip().filter(|_| can_run()) else { return };
    let folder = tempfile::tempdir().unwrap();
    build_nap(folder.path());
    let group = BandwidthGroup::create(&parent).unwrap();
    group.set(&Bandwidth { quota_us: 20_000, period_us: 100_000, burst_us: 0 }).unwrap();
    let sleeps = Node::start(folder.path(), &["+S", "2:2"], "nap:'begin'()", None);
    let loops = "[spawn(fun L() -> lists:seq(1, 999), L() end) || _ <- lists:seq(1, 8)]";
    let limited = Node::start(folder.path(), &["+S", "4:4"], loops, Some(&group));
    let idle = Node::start(folder.path(), &["+S", "1:1"], "ok", None);
    [&sleeps, &limited, &idle].into_iter().for_each(Node::wait);
    let look = || seen(&Place::new().say(&["watch", "--for", "4s", "--json"]));
    let is_named = |found: &Value| found["facts"]["place"]["symbol"].is_string();
    let are_found = |live: &Value| {
        of_node(live, "blocking-nif", &sleeps).is_some_and(is_named)
            && of_node(live, "more-schedulers", &limited).is_some()
    };
    let mut live = look();
    if !has_or_skip(live["sources"][0]["missing"].is_null(), &live["sources"][0]) {
        return;
    }
    for _ in 1..LOOKS {
        if are_found(&live) {
            break;
        }
        live = look();
    }
    let found = of_node(&live, "blocking-nif", &sleeps).unwrap_or_else(|| panic!("{live:#}"));
    let facts = &found["facts"];
    assert_eq!((&facts["place"]["file"], &facts["sleeps"]), (&"nap.so".into(), &true.into()));
    // From Linux 5.15 on. The function is static, but the file still names it.
    assert_eq!(facts["place"]["symbol"], "nap", "{found}");
    assert!(found["worst_ms"].as_f64().unwrap() >= 25.0, "{found}");
    assert_eq!(found["run"]["scenario"], "blocking-nif");
    let found = of_node(&live, "more-schedulers", &limited).unwrap_or_else(|| panic!("{live:#}"));
    let facts = &found["facts"];
    assert_eq!((&facts["online"], &facts["set_by_flag"]), (&4.into(), &true.into()));
    assert_eq!(found["run"]["parameters"]["quota"], "0.2");
    for kind in ["blocking-nif", "busy-wait", "more-schedulers"] {
        assert!(of_node(&live, kind, &idle).is_none(), "{live:#}");
    }
    assert!(of_node(&live, "blocking-nif", &limited).is_none(), "{live:#}");
}
