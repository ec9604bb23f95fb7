//! Helpers for the tests with a real node.

use beam::{App, CallError, Node, NodeOptions, Otp, Term, term};
use os::stat::Stat;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longer than any machine needs.
pub const LONG: Duration = Duration::from_secs(120);

/// The application, and a folder for one test.
pub struct Erlang {
    pub otp: Otp,
    pub app: App,
    pub folder: tempfile::TempDir,
}

/// The Erlang of this machine; if there is none, prints so and returns None.
pub fn erlang() -> Option<Erlang> {
    let otp = Otp::find(None).map_err(testing::skipped).ok()?;
    let folder = tempfile::tempdir().unwrap();
    // Nodes may run as another user.
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let app = App::prepare(&otp, &cache()).unwrap();
    Some(Erlang { otp, app, folder })
}

/// One cache for all tests, since compiling the application takes seconds.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("erlang")
}

impl Erlang {
    pub fn node(&self, options: NodeOptions) -> Node {
        let options = NodeOptions { hello_within: LONG, ..options };
        Node::start(&self.otp, &self.app, options, &|| false).unwrap()
    }
}

pub fn call(
    node: &mut Node,
    module: &str,
    function: &str,
    args: Vec<Term>,
) -> Result<Term, CallError> {
    node.call(module, function, args, LONG, &|| false, &mut |_, _| {})
}

/// Evaluates Erlang text in the node.
pub fn eval(node: &mut Node, text: &str) -> Result<Term, CallError> {
    eval_within(node, text, LONG, &mut |_, _| {})
}

pub fn eval_within(
    node: &mut Node,
    text: &str,
    limit: Duration,
    on_event: &mut dyn FnMut(Instant, Term),
) -> Result<Term, CallError> {
    let scan = call(node, "erl_scan", "string", vec![string(text)])?;
    let [_, tokens, _] = term::as_tuple::<3>(&scan).unwrap().clone();
    let parse = call(node, "erl_parse", "parse_exprs", vec![tokens])?;
    let [_, exprs] = term::as_tuple::<2>(&parse).unwrap().clone();
    let none = term::list(vec![]);
    // Only the value: bindings may contain funs, which cannot be sent.
    let value = node.call("erl_eval", "exprs", vec![exprs, none], limit, &|| false, on_event)?;
    let [_, value, _] = term::as_tuple::<3>(&value).unwrap().clone();
    Ok(value)
}

/// An Erlang string.
pub fn string(text: &str) -> Term {
    term::list(text.chars().map(|c| term::int(i64::from(u32::from(c)))).collect())
}

/// Waits until the process has ended or is a zombie; false after a long time.
pub fn is_gone(pid: u32) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
        if Stat::parse(&stat).is_none_or(|stat| stat.is_dead()) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// The processes with this variable in their environment.
pub fn marked(variable: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    };
    pids.filter(has).collect()
}
