//! Runs a command under strace, which counts system calls, kills in the n-th one, or makes the
//! n-th one fail.

use crate::case::Calls;
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A run that is only observed.
pub fn counting(calls: Calls, words: Vec<String>, workspace: &Workspace) -> Command {
    strace(workspace, words, &["-e", &format!("trace={}", calls.names())])
}

/// A run in which every traced thread is killed in its n-th call. If children are traced, the
/// calls of each thread are counted separately.
pub fn killing(
    calls: Calls,
    number: u64,
    children: bool,
    words: Vec<String>,
    workspace: &Workspace,
) -> Command {
    let names = calls.names();
    let inject = format!("inject={names}:signal=KILL:when={number}");
    // The execve call of a process shows its role.
    let trace = format!("trace={names},execve");
    let mut options = vec!["-e", trace.as_str(), "-e", inject.as_str()];
    if children {
        options.extend(["-f", "--seccomp-bpf"]);
    }
    strace(workspace, words, &options)
}

/// A run in which the n-th call of the main thread fails with this error.
pub fn failing(
    calls: &str,
    error: &str,
    number: &str,
    words: Vec<String>,
    workspace: &Workspace,
) -> Command {
    let trace = format!("trace={calls}");
    let inject = format!("inject={calls}:error={error}:when={number}");
    strace(workspace, words, &["-e", &trace, "-e", &inject])
}

fn strace(workspace: &Workspace, words: Vec<String>, options: &[&str]) -> Command {
    let mut command = workspace.command(Path::new("strace"));
    // With -D, the tracer is a separate process, so the started child is the tool itself.
    command.args(["-D", "-q", "-o"]).arg(workspace.at("out/strace")).args(options);
    command.arg(workspace.program()).args(words);
    command
}

/// The lines of strace. If it follows children, each line begins with a process number.
fn log(workspace: &Workspace) -> Vec<String> {
    let bytes = std::fs::read(workspace.at("out/strace")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

/// Number of calls in a counted run.
pub fn count_of(workspace: &Workspace) -> u64 {
    let calls = log(workspace).iter().filter(|line| line.contains('(')).count();
    u64::try_from(calls).unwrap_or(u64::MAX)
}

/// Whether a call got the error.
pub fn has_failed(workspace: &Workspace) -> bool {
    log(workspace).iter().any(|line| line.contains("(INJECTED)"))
}

/// The roles of the processes that strace killed. If the tool was killed, this includes processes
/// that its death killed with the same signal.
pub fn victims(workspace: &Workspace, tool: i32) -> Vec<String> {
    victims_in(&log(workspace), tool)
}

fn victims_in(log: &[String], tool: i32) -> Vec<String> {
    let mut roles: BTreeMap<i32, String> = BTreeMap::new();
    let mut victims = Vec::new();
    for line in log {
        let (pid, rest) = match line.split_once(' ') {
            Some((pid, rest)) if pid.parse::<i32>().is_ok() => {
                (pid.parse().unwrap_or(tool), rest.trim_start())
            }
            _ => (tool, line.as_str()),
        };
        // If another process came in between, a call has two lines.
        if rest.starts_with("execve(") && (rest.ends_with("= 0") || rest.ends_with("...>")) {
            roles.insert(pid, role_of(rest));
        }
        if rest.starts_with("+++ killed by SIGKILL") {
            let role = if pid == tool { "tool" } else { roles.get(&pid).map_or("child", |r| r) };
            victims.push(role.to_owned());
        }
    }
    victims
}

/// The role of a program, by its command line: `execve("/path/tailback", ["/path/tailback",
/// "restore", ..`.
fn role_of(execve: &str) -> String {
    let words: Vec<&str> = execve.split('"').skip(1).step_by(2).collect();
    match words.as_slice() {
        [_, _, "restore", ..] => "helper".to_owned(),
        [program, ..] => program.rsplit('/').next().unwrap_or("?").to_owned(),
        [] => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn victims_of(log: &str, tool: i32) -> Vec<String> {
        let lines: Vec<String> = log.lines().map(str::to_owned).collect();
        victims_in(&lines, tool)
    }

    #[test]
    fn who_was_killed_is_told_by_how_it_was_started() {
        let log = r#"7 execve("/x/tailback", ["/x/tailback", "run"], 0x1 /* 9 vars */) = 0
8 execve("/x/tailback", ["/x/tailback", "restore", "--when-input-ends", "7"], 0x1 <unfinished ...>
7 openat(AT_FDCWD, "/x", O_RDONLY) = 3
8 <... execve resumed>) = 0
9 execve("/nowhere/cc", ["cc"], 0x1 /* 9 vars */) = -1 ENOENT (No such file or directory)
9 execve("/usr/bin/cc", ["cc"], 0x1 /* 9 vars */) = 0
7 mkdirat(AT_FDCWD, "/x", 0777) = 0
7 +++ killed by SIGKILL +++
8 +++ killed by SIGKILL +++
9 +++ killed by SIGKILL +++
10 +++ killed by SIGKILL +++
11 +++ exited with 0 +++"#;
        assert_eq!(victims_of(log, 7), ["tool", "helper", "cc", "child"]);
    }

    #[test]
    fn a_log_of_one_thread_names_no_process() {
        let log = "openat(AT_FDCWD, \"/x\", O_RDONLY) = ?\n+++ killed by SIGKILL +++";
        assert_eq!(victims_of(log, 7), ["tool"]);
        assert_eq!(victims_of("+++ exited with 0 +++", 7), [""; 0]);
    }
}
