//! Studies with the kernel as a factor: the part of each kernel runs in its own guest, and the
//! parts make one record.

use super::design::Design;
use super::factors::{Factor, KERNEL};
use super::layout::CONTROL;
use model::{Ended, Facts, Role};
use std::collections::BTreeSet;

impl Design {
    /// The kernels, and which of them is the control's. None if kernels are no factor.
    pub fn kernels(&self) -> Option<(Vec<&str>, &str)> {
        let place = self.kernel_factor()?;
        let levels = &self.factors[place].levels;
        let control = levels.get(*self.control.get(place)?)?;
        Some((levels.iter().map(|level| level.name.as_str()).collect(), &control.name))
    }

    /// Keeps only one kernel's part of the study; false if the study has no such kernel.
    pub fn keep_kernel(&mut self, name: &str) -> bool {
        let Some(place) = self.kernel_factor() else { return false };
        self.factors[place].levels.retain(|level| level.name == name);
        self.control[place] = 0;
        !self.factors[place].levels.is_empty()
    }

    fn kernel_factor(&self) -> Option<usize> {
        let is_kernel = |factor: &Factor| {
            factor.name == KERNEL && factor.levels.iter().all(|level| level.settings.0.is_empty())
        };
        self.factors.iter().position(is_kernel)
    }
}

/// Joins the parts that the kernels' guests ran, block by block in turns, into one record. The
/// part of the control's kernel comes first. Every arm is named after its kernel, so no name
/// occurs twice. Controls of the other kernels become ordinary combinations. If the scenario made
/// them beside the combinations, they are left out. None without any part, or if a part is no
/// part of a study.
pub fn together(parts: Vec<Facts>) -> Option<Facts> {
    let mut parts = parts.into_iter();
    let mut whole = parts.next()?;
    for mut part in parts {
        let of_part = part.factorial.take()?;
        let factorial = whole.factorial.as_mut()?;
        let place = factorial.factors.iter().position(|factor| factor.name == KERNEL)?;
        let levels = of_part.factors.into_iter().nth(place)?.levels;
        factorial.factors[place].levels.extend(levels);
        factorial.cells.extend(of_part.cells);
        part.plan.arms.retain(|arm| arm.id != CONTROL);
        // A control with which one of these cases is compared stays a control.
        let own: BTreeSet<String> =
            part.plan.arms.iter().filter_map(|arm| arm.against.clone()).collect();
        part.plan.arms.iter_mut().for_each(|arm| {
            if arm.role == Role::Control && !own.contains(&arm.id) {
                arm.role = Role::Case;
            }
        });
        part.trials.retain(|trial| trial.arm != CONTROL);
        whole.plan.arms.extend(part.plan.arms);
        whole.plan.left_out.extend(part.plan.left_out);
        whole.trials.extend(part.trials);
        whole.elapsed_s += part.elapsed_s;
        if part.ended != Ended::Complete {
            whole.ended = part.ended;
        }
    }
    whole.trials.sort_by_key(|trial| trial.block);
    // Each guest was washed out by its own control, which does nothing for the arms of another
    // guest.
    whole.wash_outs.clear();
    whole.probed.clear();
    Some(whole)
}
