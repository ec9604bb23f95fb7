//! Tests that drive a node.

use crate::common::{LONG, call, erlang, eval, eval_within, is_gone, string};
use beam::term::{self, as_i64, as_text, atom, int, list, text};
use beam::{CallError, Flags, NodeOptions};
use std::cell::Cell;
use std::time::{Duration, Instant};

#[test]
fn a_node_says_hello_computes_and_ends() {
    let Some(erlang) = erlang() else { return };
    let flags = Flags::parse("+S 3:2 +SDcpu 2:1 +sbwt none").unwrap();
    assert_eq!(erlang.otp.accepts(&flags), Ok(()));
    let mut node = erlang.node(NodeOptions { flags, ..NodeOptions::default() });
    let hello = node.hello().clone();
    assert_eq!((hello.schedulers, hello.schedulers_online), (3, 2));
    assert_eq!(hello.dirty_cpu_schedulers_online, 1);
    assert_eq!(hello.otp_release, erlang.otp.release.to_string());
    assert_eq!(hello.erts, erlang.otp.erts);
    let sum = call(&mut node, "lists", "sum", vec![list(vec![int(-3), int(5)])]).unwrap();
    assert_eq!(as_i64(&sum), Ok(2));
    let big = call(&mut node, "erlang", "*", vec![int(i64::MAX), int(2)]).unwrap();
    assert_eq!(term::as_u64(&big), Ok(2 * u64::try_from(i64::MAX).unwrap()));
    // An identifier is opaque here, but the VM understands it: it is sent there and back.
    let pid = call(&mut node, "erlang", "whereis", vec![atom("tailback_port")]).unwrap();
    let info = vec![pid, atom("priority")];
    let info = call(&mut node, "erlang", "process_info", info).unwrap();
    assert_eq!(term::as_atom(&term::as_tuple::<2>(&info).unwrap()[1]), Ok("high"));
    let vm = node.pid();
    assert!(node.stop(LONG));
    assert!(is_gone(vm));
}

#[test]
fn flags_are_refused_in_the_vms_own_words() {
    let Some(erlang) = erlang() else { return };
    for (flags, words) in [
        ("+sbwt very_low", "bad scheduler busy wait threshold: very_low"),
        ("+S 0:4", "bad amount of schedulers online 4"),
        ("+zzz", "bad -z option -zzz"),
    ] {
        let refusal = erlang.otp.accepts(&Flags::parse(flags).unwrap()).unwrap_err();
        assert!(refusal.starts_with(words), "{refusal}");
    }
    let options =
        NodeOptions { flags: Flags::parse("+sbwt very_low").unwrap(), ..NodeOptions::default() };
    let error = beam::Node::start(&erlang.otp, &erlang.app, options, &|| false).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("ended with exit code 1") && message.contains("very_low"),
        "{message}"
    );
}

#[test]
fn what_fails_says_why() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    let message =
        call(&mut node, "erlang", "error", vec![atom("no_good")]).unwrap_err().to_string();
    assert!(message.starts_with("erlang:error/1 failed: {error,no_good,"), "{message}");
    let message = call(&mut node, "no_such", "thing", vec![]).unwrap_err().to_string();
    assert!(message.contains("undef"), "{message}");
    let message = eval(&mut node, "exit(self(), kill), timer:sleep(infinity).").unwrap_err();
    assert!(message.to_string().ends_with("failed: killed"), "{message}");
    // A term that cannot be sent ends the call, but not the node.
    let huge = eval(&mut node, "binary:copy(<<0>>, 70000000).").unwrap_err().to_string();
    assert!(huge.contains("more than 64 MiB"), "{huge}");
    assert_eq!(as_i64(&eval(&mut node, "1 + 1.").unwrap()), Ok(2));
}

#[test]
fn a_fun_is_refused_without_a_panic() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    let error = eval(&mut node, "fun() -> 1 end.").unwrap_err();
    assert!(matches!(&error, CallError::Protocol { what, .. } if what.contains("tag")), "{error}");
}

#[test]
fn what_is_printed_is_kept_apart_from_the_answers() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    let script = "io:format(\"häl~ts ~p~n\", [[16#20ac], {a, 1}]), io:put_chars([\"x\", $y]),
        erlang:display(stray), io:put_chars(standard_error, \"err\\n\"),
        io:format(user, \"to user~n\", []), io:get_line(\"prompt\").";
    let value = eval(&mut node, script).unwrap();
    assert_eq!(value, term::tuple(vec![atom("error"), atom("enotsup")]));
    assert_eq!(node.printed(), "häl€ {a,1}\nxy");
    assert_eq!(node.printed(), "");
    let many = "lists:foreach(fun(_) -> erlang:display(stray) end, lists:seq(1, 20000)), done.";
    assert_eq!(eval(&mut node, many).unwrap(), atom("done"));
    let began = Instant::now();
    while began.elapsed() < LONG && !node.last_lines().iter().any(|line| line == "stray") {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(node.last_lines().iter().any(|line| line == "stray"));
}

#[test]
fn events_come_with_their_time_of_arrival() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    let (mut events, mut looks) = (Vec::new(), Vec::new());
    let script =
        "[begin tailback_port:tell({tick, K}), timer:sleep(5) end || K <- lists:seq(1, 5)],
        done.";
    let began = Instant::now();
    let mut on_event = |at, event: beam::Term| {
        looks.push(Instant::now());
        // A caller that is slow to look does not change the time of an event.
        std::thread::sleep(Duration::from_millis(50));
        events.push((at, event));
    };
    assert_eq!(eval_within(&mut node, script, LONG, &mut on_event).unwrap(), atom("done"));
    assert!(events.is_sorted_by_key(|(at, _)| *at) && events.len() == 5);
    assert!(events[0].0 > began && events[4].0 < Instant::now() - Duration::from_millis(49));
    let unseen = events.iter().zip(&looks).map(|((at, _), look)| *look - *at).max();
    assert!(unseen > Some(Duration::from_millis(30)), "{unseen:?}");
    assert_eq!(events[4].1, term::tuple(vec![atom("tick"), int(5)]));
}

#[test]
fn a_fun_stands_for_the_teller_and_outlives_the_call() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    let tell = atom("$tell");
    let mut received = Vec::new();
    let mut on_event = |_, event: beam::Term| received.push(as_i64(&event).unwrap());
    let args = vec![tell.clone(), list(vec![int(1), int(2)])];
    node.call("lists", "foreach", args, LONG, &|| false, &mut on_event).unwrap();
    assert_eq!(received, [1, 2]);
    // Also as a value in a map, where it is a fun that cannot be sent back.
    let map = term::map([("tell", tell), ("other", int(1))]);
    let error = call(&mut node, "maps", "get", vec![atom("tell"), map.clone()]).unwrap_err();
    assert!(matches!(&error, CallError::Protocol { what, .. } if what.contains("tag")), "{error}");
    assert_eq!(call(&mut node, "maps", "get", vec![atom("other"), map]).unwrap(), int(1));
    let script =
        "spawn((fun(T) -> fun() -> timer:sleep(50), T(7) end end)(tailback_port:teller())), ok.";
    eval(&mut node, script).unwrap();
    let seven = Cell::new(false);
    let until = Instant::now() + LONG;
    while !seven.get() && Instant::now() < until {
        let step = Instant::now() + Duration::from_millis(20);
        let mut on_event = |_, event: beam::Term| seven.set(event == int(7));
        node.listen(step, &|| false, &mut on_event).unwrap();
    }
    assert!(seven.get());
}

#[test]
fn a_late_call_is_given_up_even_if_its_events_never_end() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    let script = "(fun L() -> tailback_port:tell(more), timer:sleep(1), L() end)().";
    let began = Instant::now();
    let mut on_event = |_, _: beam::Term| {
        assert!(began.elapsed() < LONG, "the call goes on as long as events come");
        // Events come faster than they are handled, so there is always a next one.
        std::thread::sleep(Duration::from_millis(5));
    };
    let late = eval_within(&mut node, script, Duration::from_millis(300), &mut on_event);
    assert!(matches!(late, Err(CallError::Late { .. })), "{late:?}");
    assert_eq!(call(&mut node, "erlang", "+", vec![int(1), int(2)]).unwrap(), int(3));
}

#[test]
fn a_late_call_is_given_up_and_killed_and_the_node_goes_on() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    let script = "register(sleeper, self()), timer:sleep(infinity).";
    let late = eval_within(&mut node, script, Duration::from_millis(300), &mut |_, _| {});
    assert!(matches!(late, Err(CallError::Late { .. })), "{late:?}");
    let began = Instant::now();
    let asleep = |node: &mut beam::Node| eval(node, "whereis(sleeper) =/= undefined.").unwrap();
    while asleep(&mut node) == atom("true") && began.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(asleep(&mut node), atom("false"));
    let asked = Cell::new(0);
    let interrupted = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let sleep = vec![atom("infinity")];
    let error = node.call("timer", "sleep", sleep, LONG, &interrupted, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, CallError::Interrupted { .. }), "{error}");
}

#[test]
fn large_terms_travel_both_ways() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    let numbers: Vec<i64> = (0..300_000).collect();
    let args = vec![list(numbers.iter().copied().map(int).collect())];
    let back = call(&mut node, "lists", "reverse", args).unwrap();
    let back = term::each(&back, as_i64).unwrap();
    assert!(back.iter().rev().eq(numbers.iter()));
    let long = "x".repeat(20 << 20);
    let twice = call(&mut node, "erlang", "byte_size", vec![text(&long)]).unwrap();
    assert_eq!(as_i64(&twice), Ok(20 << 20));
}

#[test]
fn a_flood_of_events_that_nobody_takes_is_bounded() {
    let Some(erlang) = erlang() else { return };
    let mut node = erlang.node(NodeOptions::default());
    // 200 MiB: the sender has to wait, and everything arrives when it is taken.
    let script = "spawn((fun(T) -> fun() -> B = binary:copy(<<0>>, 1048576),
        [T(B) || _ <- lists:seq(1, 200)], T(done) end end)(tailback_port:teller())), ok.";
    eval(&mut node, script).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let (received, until) = (Cell::new(0), Instant::now() + LONG);
    let done = Cell::new(false);
    let mut on_event = |_, event: beam::Term| match event == atom("done") {
        true => done.set(true),
        false => received.set(received.get() + 1),
    };
    let interrupted = || done.get();
    let _ = node.listen(until, &interrupted, &mut on_event);
    assert_eq!((received.get(), done.get()), (200, true));
}

#[test]
fn text_and_environment_come_through() {
    let Some(erlang) = erlang() else { return };
    let dir = erlang.folder.path().join("work");
    std::fs::create_dir(&dir).unwrap();
    let options = NodeOptions {
        env: vec![("TAILBACK_TEST".into(), "wert".into())],
        dir: Some(dir.clone()),
        ..NodeOptions::default()
    };
    let mut node = erlang.node(options);
    let value = call(&mut node, "os", "getenv", vec![string("TAILBACK_TEST")]).unwrap();
    assert_eq!(as_text(&value).unwrap(), "wert");
    let [_, cwd] =
        term::as_tuple::<2>(&call(&mut node, "file", "get_cwd", vec![]).unwrap()).unwrap().clone();
    assert_eq!(as_text(&cwd).unwrap(), dir.canonicalize().unwrap().to_str().unwrap());
}
