//! The study of a file as a plan, for a command that runs it itself.

use super::trust;
use super::wanted::Wanted;
use crate::exit::Failure;
use crate::input;
use model::record::Plan;
use model::{Factorial, Machine, Value};
use runner::studies::Design;
use scenarios::AnyScenario;
use scenarios::erlang::Otps;
use std::path::Path;

/// The longest study file, in bytes.
const MOST: u64 = 1 << 20;

/// How a study file is taken.
#[derive(Debug, Clone, Copy)]
pub struct HowPlanned {
    /// Whether its quick settings are taken.
    pub quick: bool,
    /// Whether it is trusted: it may name programs.
    pub trust: bool,
    /// How many blocks are run; the least that the file asks for where absent.
    pub blocks: Option<u32>,
}

/// The study of a file on this machine.
pub struct PlannedFile {
    /// Its scenario.
    pub scenario: &'static dyn AnyScenario,
    /// Its plan, of a fixed number of blocks.
    pub plan: Plan,
    /// Which arm is which combination.
    pub factorial: Factorial,
}

/// Reads a study file and lays its study out on this machine. No trial is run.
///
/// # Errors
/// If it cannot be read, makes no sense, needs trust, has kernels as a factor, or asks for what
/// this machine does not have.
pub fn planned(
    file: &Path,
    how: HowPlanned,
    machine: &Machine,
    otps: &Otps,
) -> Result<PlannedFile, Failure> {
    let mut design = Design::read(&text(file)?, file, how.quick)?;
    design.exactly(how.blocks.unwrap_or(design.blocks.least));
    trust::check(&design, file, how.trust)?;
    if design.kernels().is_some() {
        return Err(Failure::usage(format!(
            "{}: kernels are a factor, and both sides run on this one; compare kernels with \
             tailback matrix",
            file.display()
        )));
    }
    let Wanted { design, scenario, layout, .. } = Wanted::of(design, file, machine, otps)?;
    // Each run gets a seed of its own.
    let plan = layout.plan(&design, scenario, 0);
    Ok(PlannedFile { scenario, plan, factorial: layout.factorial })
}

/// The text of a study file.
///
/// # Errors
/// If it cannot be read or is too long.
pub fn text(file: &Path) -> Result<String, Failure> {
    input::read_text(file, MOST)
        .map_err(|error| Failure::usage(format!("{}: {error}; name a study file", file.display())))
}

/// Takes what was calibrated for the arms of the same names in another plan.
pub fn take_calibrated(plan: &mut Plan, calibrated: &Plan) {
    for arm in &mut plan.arms {
        let Some(was) = calibrated.arms.iter().find(|was| was.id == arm.id) else { continue };
        for (name, value) in arm.settings.0.iter_mut().filter(|(_, value)| value.is_open()) {
            if let Some(number @ Value::Number(_)) = was.settings.0.get(name) {
                *value = number.clone();
            }
        }
    }
}
