//! Which of the possible fixes this machine supports.

use super::params::{Fault, PreemptedHolderParams};
use super::sentences::PreemptedHolderFact;
use crate::ScenarioError;
use host::Roots;
use model::Need;

/// The features of this machine.
#[derive(Debug)]
pub(super) struct Offers {
    /// The time-slice extension, or why it is missing.
    pub(super) extension: Result<(), PreemptedHolderFact>,
    /// Whether a program that asks for huge pages can get them.
    pub(super) huge_pages: bool,
}

impl Offers {
    /// Asks the kernel.
    pub(super) fn of(roots: &Roots) -> Self {
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        Offers {
            extension: extension(load::slice::is_known(), &text(roots.proc.join("cmdline"))),
            huge_pages: offered(&text(roots.sys.join("kernel/mm/transparent_hugepage/enabled"))),
        }
    }

    /// Why these parameters cannot be used here. None if they can.
    pub(super) fn lacking(&self, params: &PreemptedHolderParams) -> Option<PreemptedHolderFact> {
        if params.slice_extension.is_yes()
            && let Err(why) = &self.extension
        {
            return Some(why.clone());
        }
        let huge = params.fault != Fault::None && params.huge.is_yes();
        (huge && !self.huge_pages).then_some(PreemptedHolderFact::NoHugePages)
    }

    /// Refuses parameters that this machine does not support.
    pub(super) fn check(&self, params: &PreemptedHolderParams) -> Result<(), ScenarioError> {
        let Some(what) = self.lacking(params) else { return Ok(()) };
        let grant = match what {
            PreemptedHolderFact::NoExtension => PreemptedHolderFact::TakeExtension,
            PreemptedHolderFact::ExtensionOff => PreemptedHolderFact::SwitchExtensionOn,
            _ => PreemptedHolderFact::AllowHugePages,
        };
        let (what, grant) = (what.into(), grant.into());
        Err(ScenarioError::Missing(Need::Scenario { what, grant }))
    }
}

/// The time-slice extension. It follows from the kernel's answer and from the kernel command line,
/// whose last matching word counts.
fn extension(known: bool, command_line: &str) -> Result<(), PreemptedHolderFact> {
    if !known {
        return Err(PreemptedHolderFact::NoExtension);
    }
    let words = command_line.split_whitespace().take_while(|word| *word != "--");
    match words.filter_map(|word| word.strip_prefix("rseq_slice_ext=")).last() {
        Some("0" | "n" | "N" | "no" | "off") => Err(PreemptedHolderFact::ExtensionOff),
        _ => Ok(()),
    }
}

/// Whether a setting like `always [madvise] never` gives huge pages to a program that asks for
/// them.
fn offered(enabled: &str) -> bool {
    enabled.contains("[always]") || enabled.contains("[madvise]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_what_it_has() {
        assert!(offered("always [madvise] never\n") && offered("[always] madvise never\n"));
        assert!(!offered("always madvise [never]\n") && !offered(""));
        assert_eq!(extension(false, ""), Err(PreemptedHolderFact::NoExtension));
        assert_eq!(
            extension(true, "quiet rseq_slice_ext=0\n"),
            Err(PreemptedHolderFact::ExtensionOff)
        );
        assert_eq!(
            extension(true, "rseq_slice_ext=0 rseq_slice_ext=1 -- rseq_slice_ext=0"),
            Ok(())
        );
    }
}
