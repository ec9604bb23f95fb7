//! Keeps the probes loaded while a command runs, so that their cost can be measured.
//!
//! `hold self COMMAND..` watches the command itself, the most expensive case;
//! `hold other COMMAND..` watches this process only, as the rest of a machine is while something
//! else is looked at; `hold none COMMAND..` loads nothing, `hold nothing COMMAND..` two programs
//! that do nothing, where those of the scheduler are, and `hold nothing-watch COMMAND..` such
//! programs where those of `tailback watch` are.

use host::roots::Roots;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use probe::{Role, Session, SessionOptions, Watched};
use std::mem::MaybeUninit;
use std::process::{Command, ExitCode};

#[path = "../src/skeleton.rs"]
mod skeleton;

/// Compiled by the build.
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

/// Runs a command beside programs that do nothing.
fn beside_nothing<'o, B: SkelBuilder<'o>>(builder: B, command: &mut Command) -> ExitCode
where
    <B::Output as OpenSkel<'o>>::Output: Skel<'o>,
{
    // As long as this process.
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

/// Watches a process and the children that it has a moment after its start.
fn watch(session: &mut Session, roots: &Roots, pid: u32) {
    std::thread::sleep(std::time::Duration::from_millis(200));
    session.watch(vec![Watched::new(pid, "bench", Role::Victim)]);
    session.watch(Watched::with_children(roots, pid, "bench", Role::Victim));
    session.release();
}
