//! Keeps the probes loaded while a command runs, to measure their cost.
//!
//! `hold self COMMAND..` watches the command itself, the most expensive case. `hold other
//! COMMAND..` watches only this process; the command then stands for the unwatched rest of a
//! machine. `hold none COMMAND..` loads nothing. `hold nothing COMMAND..` loads two programs that
//! do nothing, at the tracepoints of the scheduler programs. `hold nothing-watch COMMAND..` does
//! the same at the tracepoints of `tailback watch`.

use host::roots::Roots;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use probe::{Role, Session, SessionOptions, Watched};
use std::mem::MaybeUninit;
use std::process::{Command, ExitCode};

#[path = "../src/skeleton.rs"]
mod skeleton;

/// Compiled by build.rs.
mod object {
    pub mod evidence {
        crate::skeleton::skeleton!("/nothing.skel.rs");
    }
    pub mod watch {
        crate::skeleton::skeleton!("/nothing_watch.skel.rs");
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(whom), Some(program)) = (words.next(), words.next()) else {
        eprintln!("usage: hold none|nothing|nothing-watch|other|self COMMAND..");
        return ExitCode::from(2);
    };
    let mut command = Command::new(&program);
    match whom.as_str() {
        "nothing" => {
            return beside_nothing(
                object::evidence::NothingSkelBuilder::default(),
                command.args(words),
            );
        }
        "nothing-watch" => {
            return beside_nothing(
                object::watch::NothingWatchSkelBuilder::default(),
                command.args(words),
            );
        }
        _ => {}
    }
    let roots = Roots::real();
    let mut session = (whom != "none").then(|| Session::start(&SessionOptions::new(&roots)));
    let child = match command.args(words).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("{program}: {error}");
            return ExitCode::from(3);
        }
    };
    if let Some(session) = &mut session {
        watch(session, &roots, if whom == "self" { child.id() } else { std::process::id() });
    }
    let status = { child }.wait();
    if let Some(mut session) = session {
        session.stop();
        let evidence = session.finish();
        let switches: u64 = evidence.threads.iter().filter_map(|thread| thread.preemptions).sum();
        eprintln!(
            "hold: {} threads followed, {switches} preemptions, {} events lost; {:?}",
            evidence.threads.len(),
            evidence.lost_events,
            evidence.missing
        );
    }
    ExitCode::from(u8::from(!status.is_ok_and(|status| status.success())))
}

/// Runs a command while programs that do nothing are loaded.
fn beside_nothing<'o, B: SkelBuilder<'o>>(builder: B, command: &mut Command) -> ExitCode
where
    <B::Output as OpenSkel<'o>>::Output: Skel<'o>,
{
    // Lives as long as this process.
    let room = Box::leak(Box::new(MaybeUninit::uninit()));
    let attached = builder
        .open(room)
        .and_then(OpenSkel::load)
        .and_then(|mut skel| skel.attach().map(|()| skel));
    let _skel = match attached {
        Ok(skel) => skel,
        Err(error) => {
            eprintln!("hold: {error:#}");
            return ExitCode::from(3);
        }
    };
    ExitCode::from(u8::from(!command.status().is_ok_and(|status| status.success())))
}

/// Watches a process, and the children that it has 200 ms after its start.
fn watch(session: &mut Session, roots: &Roots, pid: u32) {
    std::thread::sleep(std::time::Duration::from_millis(200));
    session.watch(vec![Watched::new(pid, "bench", Role::Victim)]);
    session.watch(Watched::with_children(roots, pid, "bench", Role::Victim));
    session.release();
}
