//! Loads for `tailback watch`, and its results.

use super::{BINARY, Ran};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use testing::has_or_skip;

/// A load that ends with the test.
pub struct Load(pub Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Load {
    /// A program in its own session, like a service.
    pub fn start(words: &[&str]) -> Self {
        let mut command = Command::new("setsid");
        command.args(words);
        Load::spawn(command)
    }

    /// A program in the session of the test, like the load generators. With autogroup, nice values
    /// have an effect only within a session.
    pub fn in_this_session(words: &[&str]) -> Self {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        Load::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        // SAFETY: prctl is one of the calls that may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                // If the test is killed, nobody drops the load.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        Load(command.spawn().unwrap())
    }

    /// A load generator of the tool, after its set-up and release.
    pub fn generator(words: &[&str]) -> Self {
        let mut command = Command::new(BINARY);
        command.arg("load").args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.contains("ready"), "{ready}");
        child.stdin.as_mut().unwrap().write_all(b"g").unwrap();
        Load(child)
    }

    /// Limits it and its children to this CPU.
    pub fn pin(&self, cpu: &str) {
        let pin = |pid: &str| {
            let mut taskset = Command::new("taskset");
            taskset.args(["-a", "-c", "-p", cpu, pid]).stdout(Stdio::null());
            assert!(taskset.status().unwrap().success(), "{pid}");
        };
        let own = self.pid();
        pin(&own);
        let children = Command::new("pgrep").args(["-P", &own]).output().unwrap();
        String::from_utf8(children.stdout).unwrap().split_whitespace().for_each(pin);
    }

    /// Its process number, as a word.
    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

/// The last line of JSON, which covers the whole time.
pub fn seen(ran: &Ran) -> Value {
    ran.assert_no_panic();
    let last = ran.out.lines().last().unwrap_or_else(|| panic!("{ran:?}"));
    let line: Value = serde_json::from_str(last).unwrap();
    assert_eq!(line["schema"], "tailback/watch/1");
    line["live"].clone()
}

/// Whether eBPF programs work here, according to the tool.
pub fn has_programs(live: &Value) -> bool {
    let scheduler = &live["sources"][0];
    assert_eq!(scheduler["source"], "scheduler");
    has_or_skip(scheduler["missing"].is_null(), scheduler)
}

/// The finding of a stall, if there is one.
pub fn finding<'a>(live: &'a Value, stall: &str) -> Option<&'a Value> {
    live["findings"].as_array().unwrap().iter().find(|one| one["stall"] == stall)
}

/// The parts of every victim add up to its ready time.
pub fn assert_parts_add_up(live: &Value) {
    for victim in live["victims"].as_array().unwrap() {
        let parts: model::live::Parts = serde_json::from_value(victim["parts"].clone()).unwrap();
        assert_eq!(parts.sum_ns(), parts.ready_ns, "{victim}");
    }
}
