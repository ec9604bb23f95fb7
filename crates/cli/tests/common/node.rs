//! Erlang nodes that do not know about `tailback watch`, and what it says about them.

#![allow(dead_code, reason = "each test file uses the part of it that it needs")]

use crate::common::{self, Ran};
use host::cgroup::BandwidthGroup;
use serde_json::Value;
use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testing::{has_or_skip, root_or_skip};

/// A cookie that must not appear anywhere.
pub const COOKIE: &str = "geheimerkeks";

/// A node that ends with the test.
pub struct Node(pub Child);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Node {
    /// Starts a node with these flags in a folder. It evaluates this expression and then waits.
    /// What it writes is in the file `log`.
    pub fn start(
        folder: &Path,
        flags: &[&str],
        eval: &str,
        group: Option<&BandwidthGroup>,
    ) -> Self {
        let mut command = Command::new("erl");
        command.current_dir(folder).args(["-noshell", "-noinput", "-setcookie", COOKIE]);
        command.args(flags).args(["-eval", &format!("{eval}, timer:sleep(infinity).")]);
        // epmd would outlive the test.
        command.args(["-start_epmd", "false"]).env("ERL_CRASH_DUMP_SECONDS", "0");
        let log = OpenOptions::new().append(true).create(true).open(folder.join("log")).unwrap();
        command.stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        let node = Node(command.spawn().unwrap());
        if let Some(group) = group {
            group.add(node.0.id()).unwrap();
        }
        node
    }

    /// Its process.
    pub fn pid(&self) -> u64 {
        self.0.id().into()
    }

    /// Sends a signal to it.
    pub fn signal(&self, signal: &str) {
        let mut kill = Command::new("kill");
        assert!(kill.args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }

    /// Waits until the node has begun its work.
    pub fn wait(&self) {
        let until = Instant::now() + common::PATIENCE;
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

    /// Waits until the node accepts connections at this port.
    pub fn listens(&self, port: &str) {
        self.wait();
        let until = Instant::now() + common::PATIENCE;
        while std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
            assert!(Instant::now() < until, "the node does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Writes a cookie file that only its owner may use.
pub fn write_cookie(path: &Path, cookie: &str) {
    std::fs::write(path, cookie).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o400)).unwrap();
}

/// The last line of a watch, which covers the whole time.
pub fn seen(ran: &Ran) -> Value {
    ran.assert_no_panic();
    assert!(!ran.out.contains(COOKIE) && !ran.err.contains(COOKIE), "the cookie is shown");
    let last = ran.out.lines().last().unwrap_or_else(|| panic!("{ran:?}"));
    serde_json::from_str::<Value>(last).unwrap()["live"].clone()
}

/// Whether there is what these tests need. If not, prints that the test is skipped.
pub fn can_run() -> bool {
    let has = |program: &str| {
        let found = Command::new(program).arg("-version").output();
        has_or_skip(found.is_ok(), program)
    };
    root_or_skip() && has("erl") && has("erlc") && has("gcc")
}

/// The finding of a stall of this node, if there is one.
pub fn of_node<'a>(live: &'a Value, stall: &str, node: &Node) -> Option<&'a Value> {
    let all = live["findings"].as_array().unwrap();
    all.iter().find(|one| one["stall"] == stall && one["victim"]["pid"] == node.pid())
}
