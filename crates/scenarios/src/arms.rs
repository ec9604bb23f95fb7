//! The arms of a study, as a scenario plans them.

use model::{Arm, LeftOut, Settings};

/// The arms of a study.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arms<S = Settings> {
    /// The arms that can run here, the control first.
    pub arms: Vec<Arm<S>>,
    /// The arms that cannot run here, with the reasons.
    pub left_out: Vec<LeftOut>,
}

impl<S> Arms<S> {
    /// The same arms with their settings in another form.
    pub fn map<T>(self, form: impl Fn(S) -> T) -> Arms<T> {
        let arms = self.arms.into_iter().map(|arm| arm.map(&form)).collect();
        Arms { arms, left_out: self.left_out }
    }
}

impl<S> From<Vec<Arm<S>>> for Arms<S> {
    fn from(arms: Vec<Arm<S>>) -> Self {
        Arms { arms, left_out: Vec::new() }
    }
}
