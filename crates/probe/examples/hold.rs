//! Keeps the probes loaded while a command runs, so that their cost can be measured.
//!
//! `hold self COMMAND..` watches the command itself, the most expensive case;
//! `hold other COMMAND..` watches this process only, as the rest of a machine is while something
//! else is looked at; `hold none COMMAND..` loads nothing, and `hold nothing COMMAND..` two
//! programs that do nothing, where those of the scheduler are.

use host::roots::Roots;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use probe::{Role, Session, SessionOptions, Watched};
use std::mem::MaybeUninit;
use std::process::{Command, ExitCode};

/// Compiled by the build.
mod object {
    #![allow(
        clippy::all,
        clippy::allow_attributes_without_reason,
        clippy::unwrap_used,
        missing_docs,
        dead_code,
        unused_imports,
        non_snake_case,
        non_camel_case_types,
        reason = "written by libbpf-cargo"
    )]

    include!(concat!(env!("OUT_DIR"), "/nothing.skel.rs"));
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(whom), Some(program)) = (words.next(), words.next()) else {
        eprintln!("usage: hold none|nothing|other|self COMMAND..");
        return ExitCode::from(2);
    };
    if whom == "nothing" {
        return beside_nothing(Command::new(&program).args(words));
    }
    let roots = Roots::real();
    let mut session = (whom != "none").then(|| Session::start(&SessionOptions::new(&roots)));
    let child = match Command::new(&program).args(words).spawn() {
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

/// Runs a command beside the programs that do nothing.
fn beside_nothing(command: &mut Command) -> ExitCode {
    let mut room = MaybeUninit::uninit();
    let attached = object::NothingSkelBuilder::default()
        .open(&mut room)
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
