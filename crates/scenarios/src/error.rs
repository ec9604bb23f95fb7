//! Why a study could not begin or go on.

/// A need that is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is missing, in one sentence.
    pub what: String,
    /// What would grant it.
    pub grant: String,
}

/// Why a study could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A setting cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// A need is not met.
    #[error("{}; {}", .0.what, .0.grant)]
    Missing(Missing),
    /// Somebody ended the study.
    #[error("interrupted")]
    Interrupted,
    /// A trial broke.
    #[error("{0}")]
    Broken(String),
}

impl From<load::LoadError> for ScenarioError {
    fn from(error: load::LoadError) -> Self {
        use load::protocol::FailureKind;
        match error.kind() {
            FailureKind::Unusable => ScenarioError::Unusable(error.to_string()),
            FailureKind::Permission => ScenarioError::Missing(Missing {
                what: error.to_string(),
                grant: "run as root".to_owned(),
            }),
            FailureKind::Limit => ScenarioError::Missing(Missing {
                what: error.to_string(),
                grant:
                    "raise the limit that is in the way (ulimit -u, pids.max, memory), or put a \
                        smaller load on"
                        .to_owned(),
            }),
            FailureKind::System => ScenarioError::Broken(error.to_string()),
        }
    }
}
