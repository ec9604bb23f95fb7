//! Exports the census of a fleet to the formats of other tools.

mod junit;
mod openmetrics;

use crate::export::node_problem;
use model::{Census, State};

/// A format of a census.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CensusFormat {
    /// Counts and shares, for Prometheus.
    OpenMetrics,
    /// A test case for each scenario and group of hosts, for CI systems.
    JUnit,
    /// The output line of a plugin, for Kubernetes' node-problem-detector.
    NodeProblem,
}

impl CensusFormat {
    /// Every format, with its name on the command line.
    pub const ALL: [(&'static str, CensusFormat); 3] = [
        ("openmetrics", CensusFormat::OpenMetrics),
        ("junit", CensusFormat::JUnit),
        (node_problem::NAME, CensusFormat::NodeProblem),
    ];

    /// Writes a census in this format.
    pub fn write(self, census: &Census) -> String {
        match self {
            CensusFormat::OpenMetrics => openmetrics::openmetrics(census),
            CensusFormat::JUnit => junit::junit(census),
            CensusFormat::NodeProblem => node_problem::line(&answers(census)),
        }
    }
}

/// Each scenario with its worst answer.
pub fn answers(census: &Census) -> Vec<(&str, State)> {
    let gravest = |one: &model::census::ScenarioCensus| {
        let hosts = &one.hosts;
        let states = [
            (hosts.affected, State::Affected),
            (hosts.untrustworthy, State::Untrustworthy),
            (hosts.inconclusive, State::Inconclusive),
            (hosts.skipped, State::Skipped),
            (hosts.clear, State::NotAffected),
        ];
        states.into_iter().find(|(count, _)| *count > 0).map(|(_, state)| state)
    };
    let each = census.scenarios.iter();
    each.filter_map(|one| Some((one.scenario.as_str(), gravest(one)?))).collect()
}
