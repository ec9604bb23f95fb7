//! What a finding is about. It tells whether a finding is the same as one of an earlier second.

use crate::findings;
use model::live::{Finding, Program};

/// What a stall holds up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// All programs under the quota of this group. The victim of the finding is the one that loses
    /// most at the moment, so it may be another one in each second.
    Quota(String),
    /// All programs of this group, because of another limit of it. The same holds for its victim.
    OtherLimit(String),
    /// One program.
    Program {
        /// Its name.
        name: String,
        /// Its control group, if it is known.
        group: Option<String>,
    },
}

impl Subject {
    /// What this finding is about.
    pub fn of(finding: &Finding) -> Self {
        let Some(entry) = findings::find(&finding.stall) else {
            return Subject::victim(&finding.victim);
        };
        match (entry.whole_group(finding), entry.quota(finding)) {
            (Some(group), Some(_)) => Subject::Quota(group),
            (Some(group), None) => Subject::OtherLimit(group),
            (None, _) => Subject::victim(&finding.victim),
        }
    }

    /// The group whose limit holds up its programs; None for one program.
    pub fn limit(&self) -> Option<&str> {
        match self {
            Subject::Quota(group) | Subject::OtherLimit(group) => Some(group),
            Subject::Program { .. } => None,
        }
    }

    /// The victim alone, whatever the finding is about.
    pub fn victim(victim: &Program) -> Self {
        Subject::Program { name: victim.name.clone(), group: victim.group.clone() }
    }
}
