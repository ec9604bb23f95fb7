//! The counts behind a verdict, from which its test follows.

use serde::{Deserialize, Serialize};

/// One judged figure of a study. The test gives the same answer from these counts as from the
/// trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tested {
    /// The figure.
    pub measure: String,
    /// A difference up to this, in the figure's unit, does not matter.
    pub margin: f64,
    /// If noise hides more than the margin plus this, `not-affected` is not allowed.
    pub control_limit: f64,
    /// Highest rate of wrong `affected` verdicts.
    pub error_rate: f64,
    /// Highest rate of wrong `not-affected` verdicts.
    pub error_rate_not_affected: f64,
    /// Whole blocks.
    pub blocks: u32,
    /// Each arm with the cause.
    pub cases: Vec<CaseTested>,
    /// For each control, the blocks in which it was the best trial among itself and its cases.
    pub together: Vec<Wins>,
    /// The same counts without the time in which the thread had no CPU. Robbed cases are left
    /// out.
    pub together_net: Vec<Wins>,
    /// The amount that a stall has to add to a trial to show in nine blocks of ten, in the
    /// figure's unit; absent if no stall would show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows_above: Option<f64>,
    /// Whether the study can say for every case which stall would have shown.
    pub tells: bool,
}

impl Tested {
    /// Whether these counts can come from one study. No count exceeds the number of blocks, each
    /// arm has its control, and the error rates lie between 0 and 1. Counts of a real study
    /// always fit; counts that were edited by hand or invented may not.
    pub fn holds_together(&self) -> bool {
        let fits = |wins: Wins| wins.blocks() <= u64::from(self.blocks);
        let case = |case: &CaseTested| {
            let absence = [case.worse, case.alike, case.better].map(u64::from).iter().sum::<u64>();
            let has_control = (case.control as usize) < self.together.len();
            let far = case.far_worse <= case.worse && case.far_better <= case.better;
            let wins = fits(case.plain) && fits(case.net);
            has_control && wins && far && absence <= u64::from(self.blocks)
        };
        let rate = |rate: f64| rate > 0.0 && rate < 1.0;
        let limits = self.margin >= 0.0 && self.control_limit >= 0.0;
        limits
            && rate(self.error_rate)
            && rate(self.error_rate_not_affected)
            && self.together.len() == self.together_net.len()
            && self.together.iter().chain(&self.together_net).all(|wins| fits(*wins))
            && self.cases.iter().all(case)
    }
}

/// An arm with the cause, in its whole blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseTested {
    /// The arm.
    pub arm: String,
    /// The index of its control among the controls, from 0.
    pub control: u32,
    /// Blocks in which its control was clearly better, and blocks in which it was clearly worse.
    pub plain: Wins,
    /// The same counts without the time in which the thread had no CPU.
    pub net: Wins,
    /// Blocks in which it was worse than its control by more than the margin.
    pub worse: u32,
    /// Blocks in which the difference was within the margin.
    pub alike: u32,
    /// Blocks in which it was better by more than the margin.
    pub better: u32,
    /// Blocks in which it was worse by more than the margin and the limit of the control together.
    #[serde(default)]
    pub far_worse: u32,
    /// Blocks in which it was better by more than the margin and the limit of the control together.
    #[serde(default)]
    pub far_better: u32,
    /// Whether it hung in a larger share of its trials than its control.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hung_more_often: bool,
    /// Whether the hypervisor took so much more time from it than from its control that it proves
    /// nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub robbed: bool,
}

/// How often the control was the best trial, and how often another arm was. Blocks without a
/// clearly best trial are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wins {
    /// Blocks in which the control was best.
    pub control: u32,
    /// Blocks in which another arm was best.
    pub other: u32,
}

impl Wins {
    /// Blocks with a clearly best trial.
    fn blocks(self) -> u64 {
        u64::from(self.control) + u64::from(self.other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tested() -> Tested {
        let wins = Wins { control: 6, other: 1 };
        let case = CaseTested {
            arm: "busy".to_owned(),
            control: 0,
            plain: wins,
            net: wins,
            worse: 6,
            alike: 1,
            better: 0,
            far_worse: 6,
            far_better: 0,
            hung_more_often: false,
            robbed: false,
        };
        Tested {
            measure: "lost".to_owned(),
            margin: 1.0,
            control_limit: 50.0,
            error_rate: 0.05,
            error_rate_not_affected: 0.05,
            blocks: 7,
            cases: vec![case],
            together: vec![wins],
            together_net: vec![wins],
            shows_above: None,
            tells: true,
        }
    }

    #[test]
    fn counts_that_contradict_each_other_do_not_hold_together() {
        assert!(tested().holds_together());
        let changes: [fn(&mut Tested); 11] = [
            |tested| tested.blocks = 6,
            |tested| tested.cases[0].plain.control = u32::MAX,
            |tested| tested.cases[0].net.other = 2,
            |tested| tested.cases[0].alike = 2,
            |tested| tested.cases[0].control = 1,
            |tested| tested.cases[0].far_worse = 7,
            |tested| tested.cases[0].far_better = 1,
            |tested| tested.together[0].other = 2,
            |tested| tested.error_rate = 1.0,
            |tested| tested.margin = -1.0,
            |tested| tested.together_net.clear(),
        ];
        for (place, change) in changes.into_iter().enumerate() {
            let mut changed = tested();
            change(&mut changed);
            assert!(!changed.holds_together(), "{place}");
        }
    }
}
