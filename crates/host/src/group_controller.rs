//! The controllers that tailback enables for the children of a control group.

use model::group::Controller;
use serde::{Deserialize, Serialize};

/// A controller that tailback enables for the children of a control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupController {
    /// CPU time: quotas.
    Cpu,
    /// Memory: limits.
    Memory,
    /// Reads and writes of disks: limits.
    Io,
}

impl GroupController {
    /// The name of the controller in the kernel.
    pub const fn name(self) -> &'static str {
        match self {
            GroupController::Cpu => "cpu",
            GroupController::Memory => "memory",
            GroupController::Io => "io",
        }
    }
}

impl From<Controller> for GroupController {
    fn from(controller: Controller) -> Self {
        match controller {
            Controller::Cpu => GroupController::Cpu,
            Controller::Memory => GroupController::Memory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_names_a_controller_as_the_kernel_does() {
        use GroupController::{Cpu, Io, Memory};
        for controller in [Cpu, Memory, Io] {
            let text = serde_json::to_string(&controller).unwrap();
            assert_eq!(text, format!("\"{}\"", controller.name()));
        }
        for controller in [Controller::Cpu, Controller::Memory] {
            assert_eq!(GroupController::from(controller).name(), controller.name());
        }
    }
}
