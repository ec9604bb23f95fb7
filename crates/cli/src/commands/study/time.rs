//! The time that a study takes, and the output of a dry run.

use super::wanted::Wanted;
use model::Arm;
use report::prose;
use std::fmt::Write as _;
use std::time::Duration;

/// Time of the blocks of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    /// Time of one block.
    pub block: Duration,
    /// Time of all blocks, if the study ends as early as it can.
    pub least: Duration,
    /// Time of all blocks, if the study ends as late as it can.
    pub most: Duration,
}

impl Needed {
    /// The time of the rest of a study after `blocks` blocks.
    pub fn after(wanted: &Wanted, blocks: u32) -> Self {
        let (arms, washes) = (&wanted.layout.arms.arms, wanted.design.wash_out);
        let block = wanted.scenario.expected_of_block(arms, washes);
        let of = |count: u32| block.saturating_mul(count.saturating_sub(blocks));
        let least = of(wanted.design.blocks.least);
        let limit = wanted.design.time.unwrap_or(Duration::MAX).saturating_add(block);
        Needed { block, least, most: of(wanted.design.blocks.most).min(limit).max(least) }
    }
}

fn expected(wanted: &Wanted, arm: &Arm) -> Duration {
    wanted.scenario.expected(arm)
}

/// The output of a dry run.
pub fn plan(wanted: &Wanted) -> String {
    let (design, arms) = (&wanted.design, &wanted.layout.arms);
    let mut text = format!("study {}: {}\n", design.name, design.scenario);
    if let Some(about) = &design.about {
        let _ = writeln!(text, "  {about}");
    }
    let widest = arms.arms.iter().map(|arm| arm.id.chars().count()).max().unwrap_or(0);
    for arm in &arms.arms {
        let role = match arm.role {
            model::Role::Control => "  the control",
            _ => "",
        };
        let _ = writeln!(text, "  {:widest$}  {:>8}{role}", arm.id, words(expected(wanted, arm)));
    }
    for arm in &arms.left_out {
        let _ =
            writeln!(text, "  left out: {}", prose::left_out(arm, Some(wanted.scenario.meta())));
    }
    let _ = writeln!(text, "  {}", summary(wanted, 0));
    text
}

/// One line: the arms, the blocks of the whole study, and the time of the rest after `blocks`
/// blocks.
pub fn summary(wanted: &Wanted, blocks: u32) -> String {
    let (design, needed) = (&wanted.design, Needed::after(wanted, blocks));
    let blocks = match design.blocks.until_settled {
        true => format!("{} to {} blocks", design.blocks.least, design.blocks.most),
        false => format!("{} blocks", design.blocks.most),
    };
    let time = match needed.least == needed.most {
        true => words(needed.most),
        false => format!("{} to {}", words(needed.least), words(needed.most)),
    };
    let arms = wanted.layout.arms.arms.len();
    format!("{arms} arms, {blocks} of about {}: {time}", words(needed.block))
}

/// A time in a suitable unit.
fn words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_the_unit_that_fits() {
        let times =
            [0.31, 59.6, 600.0, 9000.0, 864_000.0].map(|s| words(Duration::from_secs_f64(s)));
        assert_eq!(times, ["0.3 s", "60 s", "10 min", "2.5 h", "10 days"]);
    }
}
