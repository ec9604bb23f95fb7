//! The preemption mode of the running kernel.

use crate::kernel_config::KernelConfig;
use crate::roots::{self, Roots};

/// A mode, and the option that builds it into the kernel.
struct Mode {
    name: &'static str,
    option: &'static str,
}

const MODES: [Mode; 4] = [
    Mode { name: "lazy", option: "CONFIG_PREEMPT_LAZY" },
    Mode { name: "full", option: "CONFIG_PREEMPT" },
    Mode { name: "voluntary", option: "CONFIG_PREEMPT_VOLUNTARY" },
    Mode { name: "none", option: "CONFIG_PREEMPT_NONE" },
];

/// The current mode: `none`, `voluntary`, `full` or `lazy`; None if it cannot be determined.
///
/// debugfs is certain, but is often not mounted, or readable only by root. Next is the boot
/// command line, which a kernel with dynamic preemption obeys; last is the kernel's
/// configuration.
pub(crate) fn mode(roots: &Roots, build: &str, config: Option<&KernelConfig>) -> Option<String> {
    let mode_text = roots::read_text(&roots.sys.join("kernel/debug/sched/preempt")).ok();
    if let Some(mode) = mode_text.as_deref().and_then(in_parentheses) {
        return Some(mode.to_owned());
    }
    let dynamic = build.contains("PREEMPT_DYNAMIC")
        || config.is_some_and(|config| config.has("CONFIG_PREEMPT_DYNAMIC"));
    let asked = || {
        let line = roots::read_text(&roots.proc.join("cmdline")).ok()?;
        asked_for(&line, config)
    };
    let mode = dynamic.then(asked).flatten().or_else(|| built_in(config?))?;
    Some(mode.to_owned())
}

fn known(word: &str) -> Option<&'static Mode> {
    MODES.iter().find(|mode| mode.name == word)
}

/// The chosen word of `none voluntary (full) lazy`.
fn in_parentheses(text: &str) -> Option<&'static str> {
    let word = text.split_once('(')?.1.split_once(')')?.0;
    known(word).map(|mode| mode.name)
}

/// The last mode on the kernel's command line that this kernel knows; the kernel ignores the
/// others.
fn asked_for(command_line: &str, config: Option<&KernelConfig>) -> Option<&'static str> {
    let heeded = |mode: &&Mode| config.is_none_or(|config| config.offers(mode.option));
    command_line
        .split_whitespace()
        .take_while(|word| *word != "--")
        .filter_map(|word| known(word.strip_prefix("preempt=")?).filter(heeded))
        .last()
        .map(|mode| mode.name)
}

fn built_in(config: &KernelConfig) -> Option<&'static str> {
    // Only Linux 5.16 has its own option names, and sets CONFIG_PREEMPT in addition.
    let of_5_16 = |mode: &&Mode| config.has(&format!("{}_BEHAVIOUR", mode.option));
    let usual = |mode: &&Mode| config.has(mode.option);
    let found = MODES.iter().find(of_5_16).or_else(|| MODES.iter().find(usual));
    match found {
        Some(mode) => Some(mode.name),
        // Until 6.11, real-time was a separate choice, and as preemptible as `full`.
        None => config.has("CONFIG_PREEMPT_RT").then_some("full"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const NONE_BUT_LAZY_OFFERED: &str = "CONFIG_PREEMPT_NONE=y\n# CONFIG_PREEMPT is not set\n\
        # CONFIG_PREEMPT_LAZY is not set\nCONFIG_PREEMPT_DYNAMIC=y\n";

    struct Case {
        debugfs: Option<&'static str>,
        cmdline: Option<&'static str>,
        build: &'static str,
        config: Option<&'static str>,
        expected: Option<&'static str>,
    }

    fn check(case: &Case) {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::at(dir.path());
        let debugfs = roots.sys.join("kernel/debug/sched");
        fs::create_dir_all(&debugfs).unwrap();
        fs::create_dir_all(&roots.proc).unwrap();
        if let Some(text) = case.debugfs {
            fs::write(debugfs.join("preempt"), text).unwrap();
        }
        if let Some(text) = case.cmdline {
            fs::write(roots.proc.join("cmdline"), text).unwrap();
        }
        let config = case.config.map(KernelConfig::from_text);
        let found = mode(&roots, case.build, config.as_ref());
        assert_eq!(found.as_deref(), case.expected, "{:?} {:?}", case.cmdline, case.config);
    }

    #[test]
    fn what_debugfs_says_goes_before_all_else() {
        let case = Case {
            debugfs: Some("none voluntary (full) lazy \n"),
            cmdline: Some("preempt=none"),
            build: "#1 SMP PREEMPT_DYNAMIC",
            config: Some(NONE_BUT_LAZY_OFFERED),
            expected: Some("full"),
        };
        check(&case);
        check(&Case { debugfs: Some("(\u{fffd}garbage"), expected: Some("none"), ..case });
    }

    #[test]
    fn the_command_line_counts_where_the_kernel_heeds_it() {
        let with = |cmdline, build, config, expected| {
            check(&Case { debugfs: None, cmdline: Some(cmdline), build, config, expected });
        };
        let dynamic = "#1 SMP PREEMPT_DYNAMIC @0";
        with("quiet preempt=lazy x", dynamic, Some(NONE_BUT_LAZY_OFFERED), Some("lazy"));
        with("preempt=lazy preempt=full", dynamic, Some(NONE_BUT_LAZY_OFFERED), Some("full"));
        with("preempt=voluntary", dynamic, Some(NONE_BUT_LAZY_OFFERED), Some("none"));
        with("preempt=full -- preempt=lazy", dynamic, None, Some("full"));
        with("preempt=sometimes", dynamic, None, None);
        with("preempt=full", "#1 SMP", Some("CONFIG_PREEMPT_VOLUNTARY=y\n"), Some("voluntary"));
        with("preempt=full", "#1 SMP", None, None);
    }

    #[test]
    fn the_configuration_counts_last() {
        let built = |config| built_in(&KernelConfig::from_text(config));
        assert_eq!(built("CONFIG_PREEMPT_LAZY=y\n"), Some("lazy"));
        assert_eq!(built("CONFIG_PREEMPT=y\nCONFIG_PREEMPT_NONE_BEHAVIOUR=y\n"), Some("none"));
        assert_eq!(built("CONFIG_PREEMPT_RT=y\n"), Some("full"));
        assert_eq!(built("CONFIG_PREEMPTION=y\n"), None);
    }
}
