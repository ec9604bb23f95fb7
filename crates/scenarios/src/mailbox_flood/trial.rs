//! One trial: a node writes with an empty queue, is flooded, and then writes at set lengths of its
//! mailbox.
//!
//! Nothing is left behind for the next trial. First the node is dropped, and the trial waits until
//! the VM, its memory and its port programs are gone. Then the unnamed file of a sink is deleted,
//! together with its dirty pages. The few connections of a tcp sink stay in `TIME_WAIT` for a
//! minute. The next trial listens on a port of its own.

use super::observe::{Cost, Flood, Measured, hang, observe};
use super::params::Message;
use super::plan::TrialSpec;
use super::read;
use super::sentences::MailboxFloodFact;
use super::sink::Sink;
use crate::erlang::Ended;
use crate::erlang::evidence::Watched;
use crate::{Context, Disturbances, ScenarioError, Tick, TrialResult, erlang};
use beam::term::{self, Read, atom, list, uint};
use beam::{Node, NodeOptions, Term};
use model::{Name, Note, Problem};
use os::time;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Interval between two samples of the queues, in milliseconds.
const SAMPLE_MS: u64 = 10;

/// Number of timed writes with an empty queue, if messages are not large.
const EMPTY_WRITES: u64 = 300;

/// The most bytes that these writes may move.
const MOST_EMPTY_BYTES: u64 = 256 << 20;

/// Number of timed writes at each length of the mailbox.
const WRITES_A_LENGTH: u64 = 12;

/// The longest mailbox at which writes are timed.
const LONGEST: u64 = 50_000;

/// How long the owner of the longest mailbox is sampled, in milliseconds.
const LOOK_MS: u64 = 10;

/// Shifts a seed so that it fits into a small integer of Erlang.
const SEED_SHIFT: u32 = 11;

/// How long a call may take after the flood. A write without an answer gives up after five
/// seconds. A call that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a trial and makes its observation.
pub(super) fn run(
    spec: &TrialSpec,
    context: &mut Context,
) -> Result<crate::TrialResult, ScenarioError> {
    let sink = Sink::prepare(spec.sink, &spec.folder, spec.vm.otp.user())?;
    let options =
        NodeOptions { flags: spec.flags.clone(), open: sink.open(), ..NodeOptions::default() };
    let roots = context.host.roots;
    let mut watched = Watched::prepare(context.probe, roots, false);
    let mut node = erlang::start(&spec.vm, options, context.interrupted)?;
    let facts = erlang::facts(&spec.vm, &node, &spec.flags);
    let watch = Disturbances::start(roots, None);
    let measured = measured(spec, &sink, &mut node, context, &mut watched);
    let disturbance = watch.finish(roots);
    let mut observation = match measured {
        Ok(measured) => {
            let mut observation = observe(&measured);
            observation.notes = notes(&measured.flood);
            observation
        }
        Err(Ended::Late) => hang(spec.offered(), limit(spec)),
        Err(Ended::Broken(error)) => return Err(sink.named(error)),
    };
    observation.vm = Some(facts);
    observation.evidence = watched.evidence(None);
    Ok(TrialResult { observation, disturbance })
}

/// Time limit of a call.
fn limit(spec: &TrialSpec) -> Duration {
    spec.duration + PATIENCE
}

fn measured(
    spec: &TrialSpec,
    sink: &Sink,
    node: &mut Node,
    context: &mut Context,
    watched: &mut Watched,
) -> Result<Measured, Ended> {
    let empty_rate = ask(node, "rate", rate_options(spec, sink), spec, context, read::rate)?;
    let cpu = || erlang::threads::process_cpu(context.host.roots, node.pid());
    watched.release(node.pid());
    let (before, began) = (cpu(), Instant::now());
    let flood = ask(node, "measure", flood_options(spec, sink), spec, context, read::flood);
    watched.end();
    let flood = flood?;
    let after = erlang::threads::process_cpu(context.host.roots, node.pid());
    let seconds = began.elapsed().as_secs_f64().max(1e-3);
    if flood.failed > 0.0 {
        return Err(Ended::Broken(ScenarioError::Broken(failed(spec, &flood))));
    }
    let costs = match spec.has_fit() {
        true => {
            let options = cost_options(spec, sink, context.seed);
            ask(node, "cost", options, spec, context, read::costs)?
        }
        false => Vec::<Cost>::new(),
    };
    let used = before.zip(after).map(|(before, after)| {
        let used = (after.0 + after.1).saturating_sub(before.0 + before.1);
        time::ms(used) / seconds
    });
    Ok(Measured { empty_rate, flood, one_at_a_time: spec.one_at_a_time, costs, cpu_ms_per_s: used })
}

/// The problem of failed writes. Their times cannot be compared with those of successful writes.
fn failed(spec: &TrialSpec, flood: &Flood) -> Problem {
    let writes = flood.drained + flood.duplicated;
    let fact = MailboxFloodFact::WritesFailed {
        failed: flood.failed as u64,
        writes: writes as u64,
        sink: (&spec.sink).into(),
        error: flood.errors.first().map(Name::from),
    };
    Problem::Scenario(fact.into())
}

/// Notes to show with the figures of a trial.
fn notes(flood: &Flood) -> Vec<Note> {
    let killed = (flood.killed > 0.0).then(|| Note::Fact(MailboxFloodFact::ServerRestarted.into()));
    killed.into_iter().collect()
}

/// Calls a function of `msgq_flood` and reads its answer. Reports the elapsed time meanwhile.
fn ask<T>(
    node: &mut Node,
    function: &str,
    options: Term,
    spec: &TrialSpec,
    context: &mut Context,
    read: impl FnOnce(&Term) -> Read<T>,
) -> Result<T, Ended> {
    let (interrupted, began) = (context.interrupted, Instant::now());
    let tick = RefCell::new(&mut context.tick);
    let asked = || {
        (tick.borrow_mut())(Tick { elapsed: began.elapsed(), ..Tick::default() });
        interrupted()
    };
    let (limit, on_event) = (limit(spec), &mut |_, _| {});
    let answer = node.call("msgq_flood", function, vec![options], limit, &asked, on_event);
    let answer = answer?;
    let answer = erlang::answer(&answer)?;
    Ok(erlang::read(read(answer))?)
}

fn message(spec: &TrialSpec) -> Term {
    match spec.message {
        form @ Message::Large => term::tuple(vec![atom(&form.to_string()), uint(spec.bytes)]),
        form => atom(&form.to_string()),
    }
}

/// The name of the process in whose mailbox the messages wait.
fn mailbox(spec: &TrialSpec) -> Term {
    atom(if spec.decoy { "decoy" } else { "server" })
}

fn milliseconds(time: Duration) -> Term {
    uint(time::whole_ms(time))
}

fn rate_options(spec: &TrialSpec, sink: &Sink) -> Term {
    let writes = (MOST_EMPTY_BYTES / spec.bytes.max(1)).clamp(10, EMPTY_WRITES);
    term::map([("sink", sink.term.clone()), ("message", message(spec)), ("writes", uint(writes))])
}

fn flood_options(spec: &TrialSpec, sink: &Sink) -> Term {
    let pace = if spec.one_at_a_time { "one_at_a_time" } else { "flood" };
    term::map([
        ("sink", sink.term.clone()),
        ("dam", atom(&spec.dam.to_string())),
        ("senders", uint(spec.senders)),
        ("messages", uint(spec.messages)),
        ("message", message(spec)),
        ("pace", atom(pace)),
        ("mailbox", mailbox(spec)),
        ("message_queue_data", atom(&spec.queue_data.to_string())),
        ("sample_ms", uint(SAMPLE_MS)),
        ("timeout_ms", milliseconds(spec.duration)),
        ("memory_limit_bytes", uint(spec.memory_limit)),
        ("kill_after_ms", list(spec.kill_after.map(milliseconds).into_iter().collect())),
    ])
}

fn cost_options(spec: &TrialSpec, sink: &Sink, seed: u64) -> Term {
    let longest = spec.offered().min(LONGEST);
    let lengths = [0, longest / 4, longest / 2, longest].map(uint);
    term::map([
        ("sink", sink.term.clone()),
        ("message", message(spec)),
        ("message_queue_data", atom(&spec.queue_data.to_string())),
        ("lengths", list(lengths.to_vec())),
        ("mailbox", mailbox(spec)),
        ("ops", uint(WRITES_A_LENGTH)),
        ("seed", uint(seed >> SEED_SHIFT)),
        ("sample_for_ms", uint(LOOK_MS)),
        ("look_at", atom("longest")),
        ("memory_limit_bytes", uint(spec.memory_limit)),
    ])
}
