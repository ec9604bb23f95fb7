//! The study of a file as a plan, for commands that run it themselves.

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

/// Size limit of a study file, in bytes.
const MOST: u64 = 1 << 20;

/// How to use a study file.
#[derive(Debug, Clone, Copy)]
pub struct HowPlanned {
    /// Whether to use its quick settings.
    pub quick: bool,
    /// Whether to trust the file: it may name programs.
    pub trust: bool,
    /// The number of blocks; None means the minimum of the file.
    pub blocks: Option<u32>,
}

/// The study of a file, planned for this machine.
pub struct PlannedFile {
    /// Its scenario.
    pub scenario: &'static dyn AnyScenario,
    /// Its plan, of a fixed number of blocks.
    pub plan: Plan,
    /// The combination of each arm.
    pub factorial: Factorial,
}

/// Reads a study file and plans its study for this machine. No trial is run.
///
/// # Errors
/// If the file cannot be read, makes no sense, needs trust, has kernels as a factor, or asks for
/// something that this machine lacks.
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
            "{}: kernels are a factor, but both sides run on the kernel of this machine; compare \
             kernels with tailback matrix",
            file.display()
        )));
    }
    let Wanted { design, scenario, layout, .. } = Wanted::of(design, file, machine, otps)?;
    // Each run replaces this seed with its own.
    let plan = layout.plan(&design, scenario, 0);
    Ok(PlannedFile { scenario, plan, factorial: layout.factorial })
}

/// The text of a study file.
///
/// # Errors
/// If the file cannot be read or is too long.
pub fn text(file: &Path) -> Result<String, Failure> {
    input::read_text(file, MOST)
        .map_err(|error| Failure::usage(format!("{}: {error}; name a study file", file.display())))
}

/// Copies calibrated values from another plan to the arms with the same names.
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
