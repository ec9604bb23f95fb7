//! Keeps the probes loaded while a command runs, so that their cost can be measured.
//!
//! `hold self COMMAND..` watches the command itself, the dearest case; `hold other COMMAND..` watches
//! this process only, as the rest of a machine is while something else is looked at; `hold none
//! COMMAND..` loads nothing.

use host::roots::Roots;
use probe::{Role, Session, Watched, Wish};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(whom), Some(program)) = (words.next(), words.next()) else {
        eprintln!("usage: hold none|other|self COMMAND..");
        return ExitCode::from(2);
    };
    let roots = Roots::real();
    let mut session = (whom != "none").then(|| Session::start(&Wish::new(&roots)));
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

/// Watches a process and the children that it has a moment after its start.
fn watch(session: &mut Session, roots: &Roots, pid: u32) {
    std::thread::sleep(std::time::Duration::from_millis(200));
    session.watch(vec![Watched::new(pid, "bench", Role::Victim)]);
    session.watch(Watched::with_children(roots, pid, "bench", Role::Victim));
    session.release();
}
