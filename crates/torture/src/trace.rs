//! strace around a run: it counts system calls, kills in the n-th, or lets the n-th fail.

use crate::case::Calls;
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A run that is only watched.
pub fn counting(calls: Calls, words: Vec<String>, workspace: &Workspace) -> Command {
    strace(workspace, words, &["-e", &format!("trace={}", calls.names())])
}

/// A run of which every traced thread is killed in its n-th call; with the children of the tool,
/// each counts for itself.
pub fn killing(
    calls: Calls,
    number: u64,
    children: bool,
    words: Vec<String>,
    workspace: &Workspace,
) -> Command {
    let names = calls.names();
    let inject = format!("inject={names}:signal=KILL:when={number}");
    // The start of a program tells who it is.
    let trace = format!("trace={names},execve");
    let mut options = vec!["-e", trace.as_str(), "-e", inject.as_str()];
    if children {
        options.extend(["-f", "--seccomp-bpf"]);
    }
    strace(workspace, words, &options)
}

/// A run whose main thread is told an error for its n-th call.
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
    // The tracer is beside the tool, which so is the child that was asked for.
    command.args(["-D", "-q", "-o"]).arg(workspace.at("out/strace")).args(options);
    command.arg(workspace.program()).args(words);
    command
}

/// What strace wrote, a line each; where it follows children, each begins with a process.
fn log(workspace: &Workspace) -> Vec<String> {
    let bytes = std::fs::read(workspace.at("out/strace")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

/// How many calls a counted run made.
pub fn count_of(workspace: &Workspace) -> u64 {
    let calls = log(workspace).iter().filter(|line| line.contains('(')).count();
    u64::try_from(calls).unwrap_or(u64::MAX)
}

/// Whether a call was told an error.
pub fn has_failed(workspace: &Workspace) -> bool {
    log(workspace).iter().any(|line| line.contains("(INJECTED)"))
}

/// Whom strace killed, by role: with the tool, also what died of the tool's death by the same
/// signal.
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
        // The line of a call is in two parts where another process came in between.
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

/// What a program is, by how it was started: `execve("/path/tailback", ["/path/tailback",
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
