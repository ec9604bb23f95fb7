//! The messages of a study, block by block. They are shown as lines, or a guest sends them to its
//! host.

use model::{State, estimate::number};
use os::terminal::line as plain;
use serde::{Deserialize, Serialize};

/// One message of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "event")]
pub enum Step {
    /// The study begins.
    Begin {
        /// Its scenario.
        scenario: String,
        /// Number of arms in its plan.
        arms: usize,
        /// The number of blocks after which a verdict may end it.
        min_blocks: u32,
        /// Most blocks.
        max_blocks: u32,
        /// Seconds that the blocks for a verdict take.
        least_s: f64,
        /// Seed of every random choice.
        seed: u64,
    },
    /// A block ended.
    BlockEnd {
        /// Number of whole blocks so far.
        blocks: u32,
        /// The judged figure.
        measure: String,
        /// Its unit.
        unit: String,
        /// The figure of each arm in this block, by the name of the arm.
        figures: Vec<(String, f64)>,
        /// The verdict so far.
        state: State,
    },
    /// The verdict is final. The study continues to find a fix for the stall.
    Stands {
        /// The verdict.
        state: State,
        /// Seconds that the study took until the verdict.
        after_s: f64,
    },
    /// The verdict of one of several studies is final.
    Settled {
        /// The verdict.
        state: State,
        /// Seconds since the beginning of all of them.
        after_s: f64,
        /// Number of studies without a final verdict.
        open: usize,
    },
    /// The verdict is final, and an arm runs once more with probes.
    ProbedBegin {
        /// The arm.
        arm: String,
    },
    /// The record could not be saved; the study continues.
    NotSaved {
        /// The file of the record.
        path: String,
        /// The reason.
        why: String,
    },
}

impl Step {
    /// Whether it is the end of a block.
    pub fn ends_block(&self) -> bool {
        matches!(self, Step::BlockEnd { .. })
    }

    /// Whether it is also shown beside a bar.
    pub fn is_shown_beside_bar(&self) -> bool {
        matches!(self, Step::Begin { .. } | Step::Stands { .. } | Step::Settled { .. })
    }

    /// Whether something is wrong.
    pub fn is_wrong(&self) -> bool {
        matches!(self, Step::NotSaved { .. })
    }

    /// The line for the user.
    pub fn line(&self) -> String {
        plain(&match self {
            Step::Begin { scenario, arms, min_blocks, max_blocks, least_s, seed } => format!(
                "{scenario}: {arms} arms, {min_blocks} to {max_blocks} blocks, at least {} s; seed \
                 {seed}",
                least_s.ceil()
            ),
            Step::BlockEnd { blocks, measure, unit, figures, state } => {
                let figures: Vec<String> = figures
                    .iter()
                    .map(|(arm, figure)| format!("{arm} {}", number(*figure)))
                    .collect();
                let unit = if unit.is_empty() { String::new() } else { format!(" in {unit}") };
                format!("block {blocks}: {measure}{unit}: {}; so far {state}", figures.join(", "))
            }
            Step::Stands { state, after_s } => format!(
                "{state} after {} s; now measuring what fixes the stall; Ctrl-C keeps the verdict",
                after_s.ceil()
            ),
            Step::Settled { state, after_s, open } => {
                format!("{state} after {} s; {open} to go", after_s.ceil())
            }
            Step::ProbedBegin { arm } => {
                format!("{arm} once more, with probes, to see what holds it up")
            }
            Step::NotSaved { path, why } => format!("record {path}: {why}; the study continues"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Step {
        Step::BlockEnd {
            blocks: 12,
            measure: "stall".to_owned(),
            unit: "ms/s".to_owned(),
            figures: vec![("busy-10".to_owned(), 995.2), ("twin-10\u{1b}[2J".to_owned(), 4.0)],
            state: State::Affected,
        }
    }

    #[test]
    fn a_block_is_shown_in_a_line_without_orders_for_a_terminal() {
        let line = "block 12: stall in ms/s: busy-10 995, twin-10 [2J 4; so far affected";
        assert_eq!(block().line(), line);
        assert!(block().ends_block() && !block().is_wrong());
    }

    #[test]
    fn what_a_guest_sends_the_host_understands() {
        let begin = Step::Begin {
            scenario: "mmap-lock".to_owned(),
            arms: 2,
            min_blocks: 6,
            max_blocks: 32,
            least_s: 7.2,
            seed: 4711,
        };
        let probed = Step::ProbedBegin { arm: "busy-10".to_owned() };
        let lost = Step::NotSaved { path: "/x".to_owned(), why: "no room".to_owned() };
        let stands = Step::Stands { state: State::Affected, after_s: 6.2 };
        assert!(
            stands.line().starts_with("affected after 7 s; now measuring what fixes the stall")
        );
        let settled = Step::Settled { state: State::NotAffected, after_s: 9.4, open: 8 };
        assert_eq!(settled.line(), "not-affected after 10 s; 8 to go");
        for step in [begin, block(), stands, settled, probed, lost] {
            let sent = serde_json::to_string(&step).unwrap();
            assert_eq!(serde_json::from_str::<Step>(&sent).unwrap(), step, "{sent}");
        }
    }
}
