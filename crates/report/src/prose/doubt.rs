//! Reasons to doubt figures, and what to do about them.

use model::prose::figures::{figure, percent};
use model::{Doubt, Unit};
use os::terminal::line as plain;

/// The doubt in sentences.
pub fn doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Tainted { flags } => format!(
            "The kernel became tainted during the study (new flags {flags:#x} of \
             /proc/sys/kernel/tainted): it warned, oopsed or loaded a module. Look into dmesg, \
             reboot, and run again."
        ),
        Doubt::Steal { arm, control, more, most } => format!(
            "The hypervisor took {} more of a CPU's time from {} than from {} in the median block; \
             a verdict allows up to {}. Run on a machine with dedicated CPUs, or at a quieter \
             time.",
            percent(*more),
            plain(arm),
            plain(control),
            percent(*most)
        ),
        Doubt::NoCpu { arm, ms_per_s } => {
            let of = arm.as_deref().map_or_else(|| "an arm with the cause".to_owned(), plain);
            format!(
                "The measured thread had no CPU for {} in the median trial of {of}, and without \
                 that time no stall is left. Keep other programs off its CPU, lift the CPU quota \
                 around tailback, and run again.",
                figure(*ms_per_s, Unit::MillisecondsPerSecond)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_doubt_says_what_to_do() {
        let steal = Doubt::Steal {
            arm: "busy-10".to_owned(),
            control: "twin-10".to_owned(),
            more: 0.07,
            most: 0.05,
        };
        assert!(doubt(&steal).contains("7% more of a CPU's time from busy-10 than from twin-10"));
        let tainted = doubt(&Doubt::Tainted { flags: 0x80 });
        assert!(tainted.contains("new flags 0x80") && tainted.contains("dmesg"), "{tainted}");
        let all = doubt(&Doubt::NoCpu { arm: None, ms_per_s: 300.0 });
        assert!(all.contains("300 ms/s in the median trial of an arm with the cause"), "{all}");
    }
}
