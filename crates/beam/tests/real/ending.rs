//! However a node ends, nothing is left behind.

use crate::common::{LONG, cache, call, erlang, eval, eval_within, is_gone, marked, string};
use beam::term::{as_list, as_u64, atom, each, int, list};
use beam::{BeamError, CallError, Node, NodeOptions, Otp};
use os::stat::Stat;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Set in the process that plays the tool; no other test uses this value.
const ROLE: &str = "TAILBACK_BEAM_TEST_FOLDER";

/// Three port programs: one ends with its input, one never ends, and one starts another and
/// leaves it.
const PROGRAMS: &str = "spawn(fun() -> [open_port({spawn, C}, []) ||
    C <- [\"/bin/cat\", \"sleep 1000\", \"sh -c 'setsid sleep 1000 & exec sleep 1000'\"]],
    timer:sleep(infinity) end), ok.";

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// A variable that marks all processes of a test's node.
fn mark(name: &str) -> (String, NodeOptions) {
    let (key, value) = (format!("TAILBACK_TEST_{name}"), std::process::id().to_string());
    let env = vec![(key.clone().into(), value.clone().into())];
    (format!("{key}={value}"), NodeOptions { env, ..NodeOptions::default() })
}

/// Waits until at least `least` processes have the mark.
fn wait_for(variable: &str, least: usize) -> Vec<u32> {
    let began = Instant::now();
    loop {
        let found = marked(variable);
        if found.len() >= least || began.elapsed() > LONG {
            assert!(found.len() >= least, "only {found:?}");
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait_for_none(variable: &str) {
    let began = Instant::now();
    while !marked(variable).is_empty() && began.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(marked(variable), Vec::<u32>::new());
}

/// The VM, erl_child_setup, cat, sleep, and the two sleeps of the shell.
const ALL: usize = 6;

#[test]
fn a_dropped_node_leaves_nothing() {
    let Some(erlang) = erlang() else { return };
    let (variable, options) = mark("drop");
    let mut node = erlang.node(options);
    eval(&mut node, PROGRAMS).unwrap();
    wait_for(&variable, ALL);
    drop(node);
    // At once, without waiting: the supervisor had reaped all of them before the drop returned.
    assert_eq!(marked(&variable), Vec::<u32>::new());
}

#[test]
fn a_stopped_node_leaves_nothing() {
    let Some(erlang) = erlang() else { return };
    let (variable, options) = mark("stop");
    let mut node = erlang.node(options);
    eval(&mut node, PROGRAMS).unwrap();
    wait_for(&variable, ALL);
    assert!(node.stop(LONG));
    assert_eq!(marked(&variable), Vec::<u32>::new());
}

#[test]
fn a_node_that_does_not_heed_is_ended_all_the_same() {
    let Some(erlang) = erlang() else { return };
    let node = erlang.node(NodeOptions::default());
    let pid = node.pid();
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::STOP).unwrap();
    // The signal takes some time to reach every thread.
    let stopped = || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        let read = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("stat"));
        // A thread may end between the two reads.
        let stats = tasks.filter_map(|task| read(task).ok());
        let is_stopped = |stat: &String| stat.rsplit(')').next().unwrap().starts_with(" T");
        stats.filter(|stat| !is_stopped(stat)).count() == 0
    };
    let began = Instant::now();
    while !stopped() && began.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!node.stop(Duration::from_millis(100)));
    assert!(is_gone(pid));
}

/// Not a test: the process that the next test kills. Without its variable it does nothing.
#[test]
fn tool_that_is_killed() {
    let Some(role) = std::env::var_os(ROLE) else { return };
    let otp = Otp::find(None).unwrap();
    let app = beam::App::prepare(&otp, &cache()).unwrap();
    // A node of another user has only the environment that it is given, nothing of the tool's.
    let env = vec![(ROLE.into(), role)];
    let options = NodeOptions { hello_within: LONG, env, ..NodeOptions::default() };
    // On a thread that ends: the node must survive that thread.
    let start = move || Node::start(&otp, &app, options, &|| false).unwrap();
    let mut node = std::thread::spawn(start).join().unwrap();
    eval(&mut node, PROGRAMS).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(call(&mut node, "erlang", "+", vec![int(1), int(2)]).unwrap(), int(3));
    println!("\nnode {}", node.pid());
    // All schedulers are busy, so nothing in the VM can see that its input has ended.
    let busy = "[spawn(fun() -> X = 1 bsl 1000000,
        lists:foreach(fun(_) -> X * X end, lists:seq(1, 1000000)) end) || _ <- lists:seq(1, 8)],
        timer:sleep(infinity).";
    let ended = eval_within(&mut node, busy, LONG, &mut |_, _| {});
    panic!("nobody killed this process: {ended:?}");
}

#[test]
fn a_tool_that_is_killed_leaves_nothing() {
    let Some(erlang) = erlang() else { return };
    let value = erlang.folder.path().to_str().unwrap().to_owned();
    let variable = format!("{ROLE}={value}");
    let mut tool = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ending::tool_that_is_killed", "--nocapture"])
        .env(ROLE, &value)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tool.stdout.take().unwrap()).lines();
    let line = lines.by_ref().map(Result::unwrap).find(|line| line.starts_with("node ")).unwrap();
    let vm: u32 = line["node ".len()..].parse().unwrap();
    // Including the tool itself, and its supervisor, which has the same environment.
    let all = wait_for(&variable, ALL + 2);
    assert!(all.contains(&vm));
    std::thread::sleep(Duration::from_millis(300));
    tool.kill().unwrap();
    tool.wait().unwrap();
    wait_for_none(&variable);
    assert!(is_gone(vm));
}

/// Set in the process that compiles until it is killed: the folder of its compiler.
const COMPILING: &str = "TAILBACK_BEAM_TEST_COMPILING";

/// Not a test: the process that the next test kills.
#[test]
fn tool_that_is_killed_while_it_compiles() {
    let Some(folder) = std::env::var_os(COMPILING).map(std::path::PathBuf::from) else { return };
    let otp = Otp { erl: folder.join("erl"), ..Otp::find(None).unwrap() };
    let app = beam::App::prepare(&otp, &folder.join("cache"));
    panic!("nobody killed this process: {app:?}");
}

#[test]
fn a_compiler_dies_with_a_tool_that_is_killed() {
    let Some(erlang) = erlang() else { return };
    // No other process sleeps for this time.
    let seconds = (1_000_000 + std::process::id()).to_string();
    let erl = erlang.folder.path().join("erl");
    let script = format!("#!/bin/sh\nsetsid sleep {seconds} &\nsleep {seconds}\n");
    testing::write_program(&erl, &script);
    let sleepers = || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let argv = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        argv.filter(|argv| *argv == format!("sleep\0{seconds}\0").into_bytes()).count()
    };
    let wait = |count: usize| {
        let began = Instant::now();
        while sleepers() != count && began.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(sleepers(), count);
    };
    let mut tool = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ending::tool_that_is_killed_while_it_compiles"])
        .env(COMPILING, erlang.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait(2);
    tool.kill().unwrap();
    tool.wait().unwrap();
    wait(0);
}

#[test]
fn a_killed_vm_is_told_of_and_leaves_nothing() {
    let Some(erlang) = erlang() else { return };
    let (variable, options) = mark("killed");
    let mut node = erlang.node(options);
    eval(&mut node, PROGRAMS).unwrap();
    eval(&mut node, "io:put_chars(standard_error, \"last words\\n\").").unwrap();
    wait_for(&variable, ALL);
    kill(node.pid());
    let Err(CallError::Died(death)) = call(&mut node, "erlang", "node", vec![]) else { panic!() };
    assert_eq!((death.pid, death.how.as_str()), (node.pid(), "was killed by signal 9"));
    assert!(death.last.contains(&"last words".to_owned()), "{:?}", death.last);
    assert_eq!(death.dump, None);
    assert_eq!(marked(&variable), Vec::<u32>::new());
    // Once more, without a hang.
    assert!(matches!(call(&mut node, "erlang", "node", vec![]), Err(CallError::Died(_))));
}

#[test]
fn a_killed_supervisor_takes_the_vm_with_it() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    let stat = std::fs::read(format!("/proc/{}/stat", node.pid())).unwrap();
    let supervisor = Stat::parse(&stat).unwrap().parent().unwrap();
    let name = std::fs::read_to_string(format!("/proc/{supervisor}/comm")).unwrap();
    assert_eq!(name, "tailback-superv\n");
    kill(u32::try_from(supervisor).unwrap());
    assert!(is_gone(node.pid()));
    assert!(matches!(call(&mut node, "erlang", "node", vec![]), Err(CallError::Died(_))));
}

#[test]
fn a_crash_keeps_its_dump_and_an_orderly_end_has_none() {
    let Some(erlang) = erlang() else { return };
    let dumps = erlang.folder.path().join("dumps");
    // Another user has a folder of its own inside it.
    let own = match erlang.otp.user() {
        Some(user) => dumps.join(format!("user-{}", user.uid())),
        None => dumps.clone(),
    };
    let count = || std::fs::read_dir(&own).unwrap().count();
    let options = || NodeOptions { dumps: Some(dumps.clone()), ..NodeOptions::default() };
    assert!(erlang.node(options()).stop(LONG));
    assert_eq!(count(), 0);
    let mut node = erlang.node(options());
    let slogan = vec![string("for the test")];
    let Err(CallError::Died(death)) = call(&mut node, "erlang", "halt", slogan) else { panic!() };
    assert_eq!(death.how, "ended with exit code 1");
    let dump = death.dump.clone().unwrap();
    drop(node);
    let text = std::fs::read_to_string(&dump).unwrap();
    assert!(text.starts_with("=erl_crash_dump:") && text.contains("for the test"));
    assert!(death.to_string().ends_with(&format!("crash dump in {}", dump.display())));
    let mut node = erlang.node(options());
    let Err(CallError::Died(death)) = call(&mut node, "erlang", "halt", vec![int(3)]) else {
        panic!()
    };
    assert_eq!((death.how.as_str(), death.dump), ("ended with exit code 3", None));
}

#[test]
fn a_program_that_never_says_hello_is_given_up_with_its_last_words() {
    let Some(erlang) = erlang() else { return };
    let mut otp = erlang.otp.clone();
    otp.erl = erlang.folder.path().join("erl");
    testing::write_program(&otp.erl, "#!/bin/sh\necho not today >&2\nexec sleep 1000\n");
    let (variable, options) = mark("silent");
    let given_up = |seconds| {
        let hello_within = Duration::from_secs(seconds);
        let options = NodeOptions { hello_within, ..options.clone() };
        let error = Node::start(&otp, &erlang.app, options, &|| false).unwrap_err();
        assert_eq!(marked(&variable), Vec::<u32>::new());
        match error {
            BeamError::NoHello { last, .. } => last,
            other => panic!("{other}"),
        }
    };
    // On a busy machine the program may need longer until it writes.
    let last = [2, 10, 60].into_iter().map(given_up).find(|last| !last.is_empty()).unwrap();
    assert_eq!(last, ["not today"]);
    let (variable, options) = mark("interrupted");
    let error = Node::start(&otp, &erlang.app, options, &|| true).unwrap_err();
    assert!(matches!(error, BeamError::Interrupted), "{error}");
    assert_eq!(marked(&variable), Vec::<u32>::new());
}

#[test]
fn what_cannot_be_done_before_the_start_is_named() {
    let Some(erlang) = erlang() else { return };
    let refused = |options| {
        Node::start(&erlang.otp, &erlang.app, options, &|| false).unwrap_err().to_string()
    };
    let plain = NodeOptions::default;
    let message =
        refused(NodeOptions { join: vec!["/nonexistent/cgroup.procs".into()], ..plain() });
    assert!(message.contains("joining /nonexistent/cgroup.procs: No such file"), "{message}");
    let message = refused(NodeOptions { cpus: Some(vec![1000]), ..plain() });
    assert!(message.contains("binding it to its CPUs"), "{message}");
    let message = refused(NodeOptions { dir: Some("/nonexistent".into()), ..plain() });
    assert!(message.contains("working in /nonexistent"), "{message}");
    let mut otp = erlang.otp.clone();
    otp.erl = "/nonexistent/erl".into();
    let message = Node::start(&otp, &erlang.app, plain(), &|| false).unwrap_err().to_string();
    assert!(message.contains("/nonexistent/erl: cannot start a node: executing it"), "{message}");
}

#[test]
fn the_vm_is_bound_niced_and_joined_but_its_supervisor_is_not() {
    let Some(erlang) = erlang() else { return };
    let file = erlang.folder.path().join("cgroup.procs");
    std::fs::write(&file, "something longer than a process id\n").unwrap();
    let cpu = *os::pin::allowed().unwrap().last().unwrap();
    let options = NodeOptions {
        cpus: Some(vec![cpu]),
        nice: Some(7),
        join: vec![file.clone()],
        ..NodeOptions::default()
    };
    let mut node = erlang.node(options);
    assert_eq!(node.hello().logical_processors_available, Some(1));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{}\n", node.pid()));
    let stat = std::fs::read(format!("/proc/{}/stat", node.pid())).unwrap();
    assert_eq!(Stat::parse(&stat).unwrap().nice(), Some(7));
    // The VM has no file of the tool's open except its two pipes.
    let listed = call(&mut node, "erlang", "ports", vec![]).unwrap();
    assert!(!as_list(&listed).unwrap().is_empty());
    let limit = call(&mut node, "erlang", "system_info", vec![atom("schedulers")]).unwrap();
    assert_eq!(as_u64(&limit).unwrap(), node.hello().schedulers);
    assert_eq!(each(&list(vec![]), as_u64).unwrap(), Vec::<u64>::new());
}
