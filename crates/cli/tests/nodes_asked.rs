//! `tailback watch` with Erlang nodes that it asks: what it learns, what it leaves in them, and
//! who gets no proof of their cookie. None of it needs a quiet machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/node.rs"]
mod node;

use common::Place;
use node::{COOKIE, Node, can_run, of_node, seen, write_cookie};
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};
use serde_json::Value;
use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testing::{does_not_apply, has_or_skip, root_or_skip};

/// Most looks at a node. On a busy machine, one look may not show all that a test asks for.
const LOOKS: u32 = 5;

/// The state of a node, written all the time: modules, processes, tables, whether schedulers and
/// the states of threads are measured, and what is traced.
const SNAPSHOTS: &str = "spawn(fun() -> (fun L(Before) -> Now = lists:sum([T || \
    #{counters := C} <- erlang:statistics(microstate_accounting), T <- maps:values(C)]), \
    ok = file:write_file(\"snap.new\", \
    io_lib:format(\"~0p~n\", [{lists:sort([M || {M, _} <- code:all_loaded()]), \
    length(processes()), length(ets:all()), erlang:statistics(scheduler_wall_time) =:= undefined, \
    Now =:= Before, \
    erlang:trace_info(new, flags), nodes(connected)}])), \
    ok = file:rename(\"snap.new\", \"snap\"), timer:sleep(100), L(Now) end)(0) end)";

/// Waits until the file holds the wanted state, and returns it. On a timeout, returns its last
/// content.
fn snapshot(folder: &Path, wanted: impl Fn(&str) -> bool) -> String {
    let until = Instant::now() + common::PATIENCE;
    loop {
        let text = std::fs::read_to_string(folder.join("snap")).unwrap_or_default();
        if !text.is_empty() && wanted(&text) || Instant::now() >= until {
            return text;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until this many snapshots in a row show the same state, and returns it.
fn settled(folder: &Path, many: u32) -> String {
    let mut last = (None, String::new());
    let mut same = 0;
    common::wait_for("a state that stays", || {
        // The time and the text of one file, however often it is replaced meanwhile.
        let mut file = File::open(folder.join("snap")).ok()?;
        let written = file.metadata().unwrap().modified().ok();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        if written == last.0 {
            return None;
        }
        same = if text == last.1 { same + 1 } else { 1 };
        last = (written, text);
        (same >= many).then(|| last.1.clone())
    })
}

#[test]
fn a_process_that_scans_its_mailbox_is_named_and_nothing_is_left_in_the_node() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cookie = folder.path().join("cookie");
    write_cookie(&cookie, &format!("{COOKIE}\n"));
    let (port, _kept) = free_port();
    // With the first connection, the node loads the code that accepts connections.
    let flood = format!(
        "[code:ensure_loaded(M) || M <- [dist_util, inet_tcp_dist, erl_distribution, auth]], \
         Me = self(), P = spawn(fun() -> register(flooded, self()), \
         {{ok, _}} = dets:open_file(t, [{{file, \"t.dets\"}}]), Me ! open, \
         (fun L() -> dets:lookup(t, 1), L() end)() end), \
         receive open -> ok end, [P ! N || N <- lists:seq(1, 100000)], {SNAPSHOTS}"
    );
    let flags = ["-name", "flood@127.0.0.1", "-erl_epmd_port", &port, "+S", "2:2"];
    let node = Node::start(folder.path(), &flags, &flood, None);
    node.wait();
    // The writer has loaded what it needs with the first snapshot, and there are ten a second.
    let before = settled(folder.path(), 10);
    let name = format!("flood@127.0.0.1:{port}");
    let cookie = cookie.to_str().unwrap();
    let asks = ["--node", &name, "--cookie-file", cookie, "--pid", &node.0.id().to_string()];
    let look =
        || seen(&Place::new().say(&[&["watch", "--for", "8s", "--json"], &asks[..]].concat()));
    // A node on a busy machine may not have answered often enough for these figures.
    let states = |live: &Value| {
        let all = live["inside"][0]["figures"]["micro"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|of| of["threads"] == "scheduler")
    };
    let is_whole = |live: &Value| {
        let is_found = of_node(live, "mailbox-flood", &node).is_some();
        states(live).is_some() && problem(live).is_null() && is_found
    };
    let mut live = look();
    for _ in 1..LOOKS {
        if is_whole(&live) {
            break;
        }
        live = look();
    }
    let (figures, states) = (&live["inside"][0]["figures"], states(&live));
    assert_eq!((&figures["online"], &live["inside"][0]["problem"]), (&2.into(), &Value::Null));
    // Beside busy programs it is far below the half of an idle machine.
    assert!(states.unwrap()["shares"]["emulator"].as_f64().unwrap() > 0.01, "{figures:#}");
    let found = of_node(&live, "mailbox-flood", &node).unwrap_or_else(|| panic!("{live:#}"));
    let mailbox = &found["facts"]["mailbox"];
    assert_eq!((&mailbox["function"], &mailbox["name"]), (&"dets:req/2".into(), &"flooded".into()));
    assert!(mailbox["length"].as_u64().unwrap() >= 90_000, "{found}");
    let is_as_before = |text: &str| text == before;
    assert_eq!(snapshot(folder.path(), is_as_before), before, "after a normal end");
    // This watch is killed while it runs.
    let begin = || {
        let mut watch = Command::new(common::BINARY);
        watch.args(["watch", "--json"]).args(asks).stdout(Stdio::null()).stderr(Stdio::null());
        let watch = Node(watch.spawn().unwrap());
        let measured = snapshot(folder.path(), is_measured);
        assert!(is_measured(&measured), "it was not asked: {measured}");
        watch
    };
    let mut killed = begin();
    for file in ["cmdline", "environ"] {
        let bytes = std::fs::read(format!("/proc/{}/{file}", killed.0.id())).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(COOKIE), "the cookie is in {file}");
    }
    killed.0.kill().unwrap();
    assert_eq!(snapshot(folder.path(), is_as_before), before, "after kill -9");
    // These are killed while they wait for an answer. The node must not connect to them later.
    for _ in 0..3 {
        let unanswered = begin();
        node.signal("-STOP");
        common::wait_for("a question", || has_unread(&port).then_some(()));
        drop(unanswered);
        node.signal("-CONT");
        assert_eq!(snapshot(folder.path(), is_as_before), before, "after an answer to nobody");
        std::thread::sleep(Duration::from_millis(500));
    }
    assert_eq!(snapshot(folder.path(), is_as_before), before, "some time later");
    assert_eq!(std::fs::read_to_string(folder.path().join("log")).unwrap(), "", "the node's log");
}

/// Whether a connection to this port of this machine has bytes that its server has not read.
fn has_unread(port: &str) -> bool {
    let port = format!(":{:04X}", port.parse::<u16>().unwrap());
    std::fs::read_to_string("/proc/net/tcp").unwrap().lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (local, state, queues) = (words[1], words[3], words[4]);
        local.ends_with(&port) && state == "01" && !queues.ends_with(":00000000")
    })
}

/// Whether a snapshot shows that schedulers and the states of threads are measured.
fn is_measured(text: &str) -> bool {
    text.contains(",false,false,")
}

/// The reported problem of the first node that was asked.
fn problem(live: &Value) -> &Value {
    &live["inside"][0]["problem"]
}

#[test]
fn a_node_that_refuses_stands_still_or_dies_is_looked_at_from_outside_all_the_same() {
    if !can_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cookies = ["right", "wrong"].map(|name| folder.path().join(name));
    write_cookie(&cookies[0], COOKIE);
    write_cookie(&cookies[1], "NOTTHATONE");
    let [right, wrong] = cookies.each_ref().map(|path| path.to_str().unwrap());
    let (port, _kept) = free_port();
    let flags = ["-name", "bad@127.0.0.1", "-erl_epmd_port", &port, "+S", "1:1"];
    let node = Node::start(folder.path(), &flags, "ok", None);
    node.listens(&port);
    let name = format!("bad@127.0.0.1:{port}");
    let words = |time, cookie| {
        ["watch", "--for", time, "--json", "--node", &name, "--cookie-file", cookie]
            .map(str::to_owned)
    };
    let place = Place::new();
    let look = |time, cookie| seen(&place.say(&words(time, cookie).each_ref().map(String::as_str)));
    let is_seen = |live: &Value| {
        let mut all = live["nodes"].as_array().into_iter().flatten();
        all.any(|one| one["program"]["pid"] == node.pid())
    };
    // Watch looks for a node that does not run only when it starts. On a busy machine, its reader
    // may answer too late for that.
    let look_until_seen = |time, cookie| {
        let mut live = look(time, cookie);
        for _ in 1..LOOKS {
            if is_seen(&live) {
                break;
            }
            live = look(time, cookie);
        }
        live
    };
    let live = look_until_seen("4s", wrong);
    assert_eq!(problem(&live), "wrong-cookie", "{live:#}");
    assert!(is_seen(&live), "{live:#}");
    node.signal("-STOP");
    let live = look_until_seen("6s", right);
    assert!(problem(&live)["silent"].as_u64().unwrap() >= 1_000, "{live:#}");
    assert!(is_seen(&live), "{live:#}");
    node.signal("-CONT");
    let mut watching = Command::new(common::BINARY);
    watching.args(words("100s", right)).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut watching = watching.spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    // The first line that says this about the node.
    let mut until = |says: fn(&Value) -> bool| loop {
        let live: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let inside = &live["live"]["inside"][0];
        if says(inside) {
            break inside.clone();
        }
    };
    until(|inside| inside["figures"]["online"] == 1);
    node.signal("-KILL");
    let inside =
        until(|inside| inside["problem"] == "ended" || !inside["problem"]["connect"].is_null());
    assert_eq!(inside["figures"]["online"], 1, "its last figures are kept: {inside:#}");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

/// A port, and the socket that keeps it free: the kernel gives the port to nobody who asks for any
/// port. The socket does not listen, so nothing answers there. A node can still listen at the port,
/// because its socket has SO_REUSEADDR too.
fn free_port() -> (String, OwnedFd) {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    set_socket_reuseaddr(&socket, true).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap();
    (address.port().to_string(), socket)
}

#[test]
fn a_node_that_cannot_be_asked_is_one_clear_line() {
    let place = Place::new();
    let cookie = place.path("cookie");
    write_cookie(&cookie, COOKIE);
    let cookie = cookie.to_str().unwrap();
    let say = |node: &str| {
        let words = ["watch", "--for", "4s", "--node", node, "--cookie-file", cookie];
        let ran = place.say(&words);
        ran.assert_no_panic();
        assert!(!ran.out.contains(COOKIE) && !ran.err.contains(COOKIE));
        ran
    };
    assert_eq!(say("nonsense").code(), 2);
    // A server that answers with a TLS alert, and one that closes at once.
    for (answer, wanted) in
        [(&[21, 3, 3, 0, 2, 2, 40][..], "accepts only TLS"), (&[], "may accept only TLS")]
    {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = answer.to_vec();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if !answer.is_empty() {
                    let _ = std::io::Read::read(&mut &stream, &mut [0; 64]);
                    let _ = std::io::Write::write_all(&mut &stream, &answer);
                }
            }
        });
        let ran = say(&format!("web@127.0.0.1:{port}"));
        let text = ran.out.replace("\n  ", " ");
        assert!(text.contains(wanted), "{ran:?}");
    }
    let missing = ["watch", "--for", "1s", "--node", "a@b", "--cookie-file", "/nowhere"];
    let ran = place.say(&missing);
    assert!(ran.code() == 2 && ran.err.contains("/nowhere"), "{ran:?}");
}

/// An attacker that has a port but not the cookie. It passes each message on to the node and
/// back. Then it makes the node run a command.
const RELAY: &str = "
    Log = fun(Text) -> ok = file:write_file(\"relay.log\", [Text, $\\n], [append]) end,
    {ok, L} = gen_tcp:listen(0, [binary, {packet, 2}, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, Mine} = inet:port(L),
    Log(integer_to_list(Mine)),
    Pass = fun(From, To) -> {ok, Message} = gen_tcp:recv(From, 0), gen_tcp:send(To, Message) end,
    One = fun() ->
        {ok, S} = gen_tcp:accept(L),
        Log(\"accepted\"),
        {ok, R} = gen_tcp:connect({127, 0, 0, 1}, REAL, [binary, {packet, 2}, {active, false}]),
        Pass(S, R), Pass(R, S), Pass(R, S), Pass(S, R),
        Log(\"proof\"),
        {ok, _} = gen_tcp:recv(R, 0),
        ok = inet:setopts(R, [{packet, 4}]),
        Control = term_to_binary({6, self(), '', rex}),
        Call = {call, os, cmd, [\"touch MARK\"], user},
        Ask = term_to_binary({'$gen_call', {self(), make_ref()}, Call}),
        gen_tcp:send(R, [$p, Control, Ask]),
        timer:sleep(500)
    end,
    [catch One() || _ <- lists:seq(1, 9)]";

#[test]
fn who_has_a_port_and_not_the_cookie_gets_no_proof_of_it() {
    if !can_run() || !has_or_skip(Path::new("/usr/bin/setpriv").exists(), "setpriv") {
        return;
    }
    let place = Place::new();
    let (cookie, mark) = (place.path("cookie"), place.path("mark"));
    write_cookie(&cookie, COOKIE);
    let folder = mark.parent().unwrap();
    let (port, _kept) = free_port();
    let flags = ["-name", "real@127.0.0.1", "-erl_epmd_port", &port];
    let node = Node::start(folder, &flags, "ok", None);
    node.listens(&port);
    let eval = RELAY.replace("REAL", &port).replace("MARK", mark.to_str().unwrap());
    let mut relay = Command::new("setpriv");
    relay.args(["--reuid=65534", "--regid=65534", "--clear-groups", "erl", "-noshell", "-noinput"]);
    relay.args(["-eval", &format!("{}.", eval.replace('\n', " "))]);
    relay.current_dir(folder).env("HOME", folder).env("ERL_CRASH_DUMP_SECONDS", "0");
    relay.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _relay = Node(relay.spawn().unwrap());
    let log = || std::fs::read_to_string(place.path("relay.log")).unwrap_or_default();
    let until = Instant::now() + common::PATIENCE;
    while !log().ends_with('\n') {
        assert!(Instant::now() < until, "the relay did not start");
        std::thread::sleep(Duration::from_millis(50));
    }
    let asks = |port: &str, time: &str| {
        let name = format!("real@127.0.0.1:{port}");
        let cookie = cookie.to_str().unwrap();
        let of_node = ["--json", "--node", &name, "--cookie-file", cookie];
        seen(&place.say(&[&["watch", "--for", time][..], &of_node].concat()))
    };
    // Long enough to ask again.
    let live = asks(log().trim(), "8s");
    assert!(!log().contains("proof") && !mark.exists(), "{}", log());
    // Watch connects to it once, to see its owner, and never again.
    assert!(log().matches("accepted").count() <= 1, "{}", log());
    let wanted = serde_json::json!({ "port_user": 65_534, "cookie_user": 0 });
    assert_eq!(problem(&live)["foreign-port"], wanted, "{live:#}");
    // The node itself is still asked.
    let answers = |_| {
        let live = asks(&port, "5s");
        problem(&live).is_null() && live["inside"][0]["figures"].is_object()
    };
    assert!((0..LOOKS).any(answers), "the node itself is not asked");
    // If the owner of the port also owns the cookie, they may give it away.
    chown(&cookie, Some(65_534), None).unwrap();
    let live = asks(log().lines().next().unwrap(), "3s");
    assert!(problem(&live)["foreign-port"].is_null(), "{live:#}");
}

#[test]
fn root_takes_no_cookie_of_the_home_of_another_user() {
    if !root_or_skip() {
        return;
    }
    let place = Place::new();
    let home = place.path("home");
    std::fs::create_dir(&home).unwrap();
    let cookie = home.join(".erlang.cookie");
    write_cookie(&cookie, COOKIE);
    chown(&home, Some(65_534), None).unwrap();
    let say = |more: &[&str]| {
        let (port, _kept) = free_port();
        let node = format!("web@127.0.0.1:{port}");
        let words = ["watch", "--for", "4s", "--node", &node];
        let mut command = place.tailback(&[&words[..], more].concat());
        command.env("HOME", &home);
        place.run(command)
    };
    // The home as sudo -E leaves it, also with a file in it that root has made. If RabbitMQ is
    // installed, its cookie is used instead.
    let instead = Path::new("/var/lib/rabbitmq/.erlang.cookie").exists();
    if instead {
        does_not_apply("a home of another user: the cookie of RabbitMQ is taken instead");
    }
    for owner in [65_534, 0].into_iter().filter(|_| !instead) {
        chown(&cookie, Some(owner), None).unwrap();
        let ran = say(&[]);
        let text = &ran.err;
        assert!(ran.code() == 2 && text.contains("HOME: ") && text.contains("65534"), "{ran:?}");
        assert!(text.contains("--cookie-file FILE"), "{ran:?}");
    }
    chown(&cookie, Some(65_534), None).unwrap();
    let ran = say(&["--cookie-file", cookie.to_str().unwrap()]);
    assert!(ran.out.contains("nothing answers at its port"), "{ran:?}");
    std::fs::set_permissions(&cookie, Permissions::from_mode(0o644)).unwrap();
    let ran = say(&["--cookie-file", cookie.to_str().unwrap()]);
    assert!(ran.code() == 2 && ran.err.contains("mode 0644"), "{ran:?}");
}
