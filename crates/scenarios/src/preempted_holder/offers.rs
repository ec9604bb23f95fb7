//! Which of the possible fixes this machine supports.

use super::params::{Fault, PreemptedHolderParams};
use super::sentences::PreemptedHolderFact;
use crate::ScenarioError;
use host::Roots;
use load::region::PAGES;
use model::Need;
use std::path::Path;

/// The features of this machine.
#[derive(Debug)]
pub(super) struct Offers {
    /// The time-slice extension, or why it is missing.
    pub(super) extension: Result<(), PreemptedHolderFact>,
    /// Huge pages for a thread that asks for them, or why it gets none.
    pub(super) huge_pages: Result<(), PreemptedHolderFact>,
}

impl Offers {
    /// Asks the kernel.
    pub(super) fn of(roots: &Roots) -> Self {
        let command_line = text(&roots.proc.join("cmdline"));
        let memory = (PAGES * rustix::param::page_size()) as u64;
        Offers {
            extension: extension(load::slice::is_known(), &command_line),
            huge_pages: huge_pages(&roots.sys.join("kernel/mm/transparent_hugepage"), memory),
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
        self.huge_pages.clone().err().filter(|_| huge)
    }

    /// Refuses parameters that this machine does not support.
    pub(super) fn check(&self, params: &PreemptedHolderParams) -> Result<(), ScenarioError> {
        let Some(what) = self.lacking(params) else { return Ok(()) };
        let grant = match what {
            PreemptedHolderFact::NoExtension => PreemptedHolderFact::TakeExtension,
            PreemptedHolderFact::ExtensionOff => PreemptedHolderFact::SwitchExtensionOn,
            PreemptedHolderFact::HugePagesTooLarge { .. } => PreemptedHolderFact::TakeSmallPages,
            _ => PreemptedHolderFact::AllowHugePages,
        };
        let (what, grant) = (what.into(), grant.into());
        Err(ScenarioError::Missing(Need::Scenario { what, grant }))
    }
}

/// The text of a file of the kernel. Empty if the file cannot be read.
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
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

/// Huge pages in memory of this many bytes. `folder` has the kernel's settings for them.
///
/// With pages of 16 or 64 KiB, a huge page of an ARM machine has 32 or 512 MiB. The kernel accepts
/// the request for one all the same, and then uses small pages.
fn huge_pages(folder: &Path, memory: u64) -> Result<(), PreemptedHolderFact> {
    // A kernel before 4.10 does not say how large they are.
    let size = text(&folder.join("hpage_pmd_size")).trim().parse::<u64>().ok();
    if let Some(size) = size.filter(|size| *size > memory) {
        let (mib, most) = (size >> 20, memory >> 20);
        return Err(PreemptedHolderFact::HugePagesTooLarge { mib, most });
    }
    // Since Linux 6.8, each size has a setting of its own, which may inherit that of all sizes.
    let own = size.map(|size| format!("hugepages-{}kB/enabled", size >> 10));
    let own = own.map(|file| text(&folder.join(file))).unwrap_or_default();
    let inherits = own.is_empty() || own.contains("[inherit]");
    let setting = if inherits { text(&folder.join("enabled")) } else { own };
    if offered(&setting) { Ok(()) } else { Err(PreemptedHolderFact::NoHugePages) }
}

/// Whether a setting like `always [madvise] never` gives huge pages to a program that asks for
/// them.
fn offered(enabled: &str) -> bool {
    enabled.contains("[always]") || enabled.contains("[madvise]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::YesNo;
    use testing::Tree;

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

    #[test]
    fn huge_pages_have_to_fit_into_the_memory_of_a_thread() {
        let of = |files: &[(&str, &str)], memory| huge_pages(Tree::new(files).root(), memory);
        let enabled = ("enabled", "always [madvise] never\n");
        let usual = ("hpage_pmd_size", "2097152\n");
        let large = ("hpage_pmd_size", "536870912\n");
        assert_eq!(of(&[enabled, usual], 2 << 20), Ok(()));
        assert_eq!(of(&[enabled], 2 << 20), Ok(()), "before Linux 4.10");
        let too_large = PreemptedHolderFact::HugePagesTooLarge { mib: 512, most: 32 };
        assert_eq!(of(&[enabled, large], 32 << 20), Err(too_large.clone()));
        let never = ("enabled", "always madvise [never]\n");
        assert_eq!(of(&[never, usual], 2 << 20), Err(PreemptedHolderFact::NoHugePages));
        assert_eq!(of(&[never, large], 32 << 20), Err(too_large.clone()), "no setting helps");
        let own = |setting| ("hugepages-2048kB/enabled", setting);
        let inherits = own("always [inherit] madvise never\n");
        assert_eq!(of(&[enabled, usual, inherits], 2 << 20), Ok(()));
        let no = Err(PreemptedHolderFact::NoHugePages);
        assert_eq!(of(&[never, usual, inherits], 2 << 20), no);
        assert_eq!(of(&[enabled, usual, own("always inherit madvise [never]\n")], 2 << 20), no);
        assert_eq!(of(&[never, usual, own("always inherit [madvise] never\n")], 2 << 20), Ok(()));
        let offers = Offers { extension: Ok(()), huge_pages: Err(too_large.clone()) };
        let huge = PreemptedHolderParams { huge: YesNo::Yes, ..Default::default() };
        assert_eq!(offers.lacking(&huge), None, "without page faults it has no memory");
        let faults = PreemptedHolderParams { fault: Fault::Minor, ..huge };
        assert_eq!(offers.lacking(&faults), Some(too_large.clone()));
        let need = Need::Scenario {
            what: too_large.into(),
            grant: PreemptedHolderFact::TakeSmallPages.into(),
        };
        assert_eq!(offers.check(&faults), Err(ScenarioError::Missing(need)));
    }
}
