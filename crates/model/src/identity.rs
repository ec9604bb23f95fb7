//! What groups a machine with others of its kind: the factors on which a fleet's answers may
//! depend.

use crate::machine::Machine;
use serde::{Deserialize, Serialize};

/// The schema of what `tailback host identify` prints.
pub const IDENTIFIED: &str = "tailback/identity/1";

/// A machine with its name, as `tailback host identify` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identified {
    /// [`IDENTIFIED`].
    pub schema: String,
    /// The name of the machine, or its hash.
    pub host: HostName,
    /// What the machine has in common with others of its kind.
    pub identity: Identity,
}

/// What a machine has in common with others of its kind; a field that could not be read is
/// absent.
///
/// None of the fields names the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// The first two numbers of the release: `6.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// Architecture.
    pub arch: String,
    /// Timer interrupts a second (CONFIG_HZ).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// Active preemption mode: none, voluntary, full, lazy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// CPUs that are online.
    pub cpus: u32,
    /// Name of the first CPU's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// The name of the machine in its firmware: the instance type in some clouds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Whether the machine runs under a hypervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtualised: Option<bool>,
    /// Version of control groups: `v1`, `v2` or `hybrid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Name of the distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// Versions of the Erlang/OTP installations that were found, in ascending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub otps: Vec<String>,
}

impl Identity {
    /// The identity of a machine on which these OTPs were found.
    pub fn of(machine: &Machine, mut otps: Vec<String>) -> Self {
        otps.sort_unstable();
        otps.dedup();
        Identity {
            kernel: machine.kernel.clone(),
            series: series(&machine.kernel),
            arch: machine.arch.clone(),
            hz: machine.hz,
            preemption: machine.preemption.clone(),
            cpus: u32::try_from(machine.cpus.len()).unwrap_or(u32::MAX),
            cpu_model: machine.cpu_model.clone(),
            product: machine.product.clone(),
            virtualised: machine.virtualised,
            cgroup: machine.cgroup.as_ref().map(|cgroup| cgroup.version.clone()),
            distribution: machine.distribution.clone(),
            otps,
        }
    }
}

/// The name of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HostName {
    /// The plain name.
    Name(String),
    /// The first half of the SHA-256 of a salt and the name, in hexadecimal.
    Hash(String),
}

impl HostName {
    /// The name or its hash.
    pub fn text(&self) -> &str {
        match self {
            HostName::Name(text) | HostName::Hash(text) => text,
        }
    }
}

/// The first two numbers of a kernel's release: `6.1` of `6.1.0-18-amd64`.
pub fn series(release: &str) -> Option<String> {
    let mut parts = release.split(['.', '-', '+', '_']);
    let number = |part: Option<&str>| part?.parse::<u16>().ok();
    let (major, minor) = (number(parts.next())?, number(parts.next())?);
    Some(format!("{major}.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_the_first_two_numbers() {
        let of = |release| series(release).unwrap_or_default();
        assert_eq!(of("6.1.0-18-amd64"), "6.1");
        assert_eq!(of("4.18.0-553.el8_10.x86_64"), "4.18");
        assert_eq!(of("6.12-rc3"), "6.12");
        assert_eq!((of("linux"), of("6"), of("6.x"), of("99999999.1")), Default::default());
    }

    #[test]
    fn otps_stand_once_and_in_order() {
        let otps = ["27.1", "25.3", "27.1"].map(str::to_owned).to_vec();
        assert_eq!(Identity::of(&Machine::default(), otps).otps, ["25.3", "27.1"]);
    }
}
