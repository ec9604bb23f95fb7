//! A study that has the kernel as a factor.

use super::flags::StudyFile;
use super::wanted::Wanted;
use crate::commands::matrix::{Member, Row, run_all};
use crate::commands::run::Done;
use crate::commands::vm::session::{Host, Machine};
use crate::exit::{self, Failure};
use crate::session::Session;
use crate::{output, paths};
use model::Judged;
use model::record::Progress;
use runner::End;
use runner::studies::{Design, together};
use std::path::Path;

/// Runs the part of each kernel in a guest. The guests take turns, block by block. One record is
/// made of all parts.
///
/// Every part has the same number of blocks, even if its own verdict is settled earlier.
pub fn study(
    session: &Session,
    design: &Design,
    text: &str,
    flags: &StudyFile,
) -> Result<u8, Failure> {
    let file = flags.file.as_path();
    let Some((names, control)) = design.kernels() else {
        return Err(Failure::usage("no factor `kernel`"));
    };
    let seed = flags.seed.or(design.seed);
    let seed: u64 = seed.unwrap_or_else(crate::settings::draw_seed);
    let interruption = session.interruption();
    let interrupted = || interruption.noticed();
    possible(session, design, file, control)?;
    let loop_devices = scenarios::needs_loop_devices(design.scenario);
    let machine = Machine::sized(&design.guest);
    let host = Host::look(session.machine(), machine, names.len(), loop_devices)?;
    let path = paths::record(session, flags.record.as_ref(), design.scenario)?;
    // The record takes its plan from the kernel of the control.
    let (first, others): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| **name == control);
    let guests = first.into_iter().chain(others).map(|name| {
        let args = words(design, text, file, name, seed);
        let kernel = host.kernel(name, &interrupted)?;
        Member::new(session, &host, kernel, name, args, design.scenario)
    });
    let guests = guests.collect::<Result<Vec<_>, Failure>>()?;
    output::note(&format!(
        "study {}: {} kernels, block by block, {} blocks each; seed {seed}",
        design.name,
        names.len(),
        design.blocks.least
    ));
    let record = whole(run_all(guests, &interrupted)?)?;
    let done = Done::keep(record, End::Complete, &path);
    tell(session, &done, flags);
    // A path inside a guest is not printed, but this one is on the host.
    match done.is_in_place() && !done.file().is_empty() {
        true => output::note(&format!("record: {}", path.display())),
        false => done.print_path(),
    }
    match done.record.ended.progress() {
        Progress::Complete => done.code(),
        _ => Ok(exit::BROKEN),
    }
}

/// Fails before anything is booted if the settings are impossible. A need that this machine lacks
/// may be present in the guests, so it is no failure.
fn possible(session: &Session, design: &Design, file: &Path, control: &str) -> Result<(), Failure> {
    let mut part = design.clone();
    part.keep_kernel(control);
    let machine = session.machine();
    match Wanted::of(part, file, &machine, &session.otps) {
        Err(failure) if failure.code == exit::USAGE => Err(failure),
        _ => Ok(()),
    }
}

/// The words of the command that a guest runs.
fn words(design: &Design, text: &str, file: &Path, kernel: &str, seed: u64) -> Vec<String> {
    let blocks = design.blocks.least.to_string();
    let (file, seed) = (file.display().to_string(), seed.to_string());
    let mut words = vec!["study", &file, "--text", text, "--in-kernel", kernel, "--yes"];
    // The host has checked trust already. In a guest, the file can only harm the guest.
    words.push("--trust");
    words.extend(["--samples", &blocks, "--seed", &seed]);
    if design.quick {
        words.push("--quick");
    }
    words.into_iter().map(str::to_owned).collect()
}

/// Makes one judged record of the records of all guests. Fails if a guest ended in another way.
fn whole(rows: Vec<Row>) -> Result<Judged, Failure> {
    let mut parts = Vec::new();
    for row in rows {
        parts.push(row.into_record().map_err(Failure::broken)?.facts);
    }
    let whole = together(parts)
        .ok_or_else(|| Failure::broken("the guests' records are not parts of one study"))?;
    Ok(scenarios::judged(whole))
}

fn tell(session: &Session, done: &Done, flags: &StudyFile) {
    if flags.json {
        return session.out.json(&done.record.to_json());
    }
    let file = done.file();
    session.out.print(&report::record(&done.shown(&file), output::look_with(flags.why)));
}
