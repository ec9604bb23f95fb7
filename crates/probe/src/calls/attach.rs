//! The program that counts a function's calls, and its table.

use super::{CallTarget, CpuCalls, Table};
use crate::ProbeError;
use crate::elf::{self, Named};
use crate::refused::refused;
use crate::shared::{Shared, elements};
use libbpf_rs::UprobeOpts;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use model::not_seen::ProgramPart;
use object::CallsSkelBuilder;
use object::types::bss;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::ptr::addr_of_mut;

/// Compiled by build.rs.
mod object {
    crate::skeleton::skeleton!("/calls.skel.rs");
}

/// The largest argument number that a program can read.
const ARGUMENTS: u32 = 6;

/// Why the calls of an indirect function (`STT_GNU_IFUNC`) are not counted.
const CHOOSES: &str = "this function only chooses the function that is called, once in a process \
                       (IFUNC), so its calls cannot be counted; count a function that calls it";

/// Attaches to a function while `run` runs.
///
/// # Errors
/// If the kernel refuses the program, or the function does not exist.
pub fn attached(
    target: &CallTarget,
    file: File,
    run: &mut dyn FnMut(&dyn Fn() -> Table),
) -> Result<(), ProbeError> {
    let size = target.size_argument.unwrap_or(0);
    if size > ARGUMENTS {
        return Err(ProbeError::NoSymbol {
            what: format!("argument {size}"),
            why: format!("only the first {ARGUMENTS} are in registers"),
        });
    }
    libbpf_rs::set_print(None);
    let not_loaded = |error| refused(ProgramPart::Programs, &error);
    let mut room = MaybeUninit::uninit();
    let mut open = CallsSkelBuilder::default().open(&mut room).map_err(not_loaded)?;
    if let Some(rodata) = open.maps.rodata_data.as_deref_mut() {
        rodata.size_argument = size;
    }
    let skel = open.load().map_err(not_loaded)?;
    let no_symbol = |why: String| ProbeError::NoSymbol {
        what: format!("{} in {}", target.symbol, target.library),
        why: format!("{why}; nm -D {} lists its symbols", target.library),
    };
    // Through this link the kernel opens the file that is open here, even if the path names
    // another file by now.
    let link_to_file = format!("/proc/self/fd/{}", file.as_raw_fd());
    let Named::At(offsets) = elf::named(&file, &target.symbol) else {
        return Err(no_symbol(CHOOSES.to_owned()));
    };
    let offsets: Vec<usize> =
        offsets.into_iter().filter_map(|offset| usize::try_from(offset).ok()).collect();
    if offsets.is_empty() {
        return Err(no_symbol("no such function".to_owned()));
    }
    let pid = i32::try_from(target.pid).map_err(|_| ProbeError::NoProcess(target.pid))?;
    let mut links = Vec::new();
    for offset in offsets {
        let options = UprobeOpts::default();
        let link = skel.progs.on_call.attach_uprobe_with_opts(pid, &link_to_file, offset, options);
        links.push(link.map_err(|error| no_symbol(format!("{error:#}")))?);
    }
    let memory =
        Shared::map(&skel.maps.bss).map_err(|error| refused(ProgramPart::Table, &error))?;
    run(&|| read(&memory));
    drop(links);
    Ok(())
}

/// The counts so far.
fn read(memory: &Shared<bss>) -> Table {
    let mut table = Table::default();
    // SAFETY: within the mapped memory, which the kernel may write at any moment.
    let tallies = unsafe { addr_of_mut!((*memory.as_ptr()).tallies) };
    for (cpu, tally) in (0..).zip(elements(tallies)) {
        // SAFETY: as above.
        let (calls, bytes) = unsafe {
            (
                addr_of_mut!((*tally).calls).read_volatile(),
                addr_of_mut!((*tally).bytes).read_volatile(),
            )
        };
        if calls > 0 {
            table.cpus.insert(cpu, CpuCalls { calls, bytes });
        }
    }
    // SAFETY: as above.
    table.elsewhere = unsafe { addr_of_mut!((*memory.as_ptr()).elsewhere).read_volatile() };
    table
}
