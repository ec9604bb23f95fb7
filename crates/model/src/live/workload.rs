//! Whose a control group is, in the words of those who run it.

use serde::{Deserialize, Serialize};

/// Whose a control group is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// A unit of systemd.
    Unit(SystemdUnit),
    /// A container.
    Container(Container),
    /// All containers of a pod.
    Pod(Pod),
    /// A task of Nomad.
    Task(Task),
}

/// A unit of systemd.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemdUnit {
    /// Its name with its suffix, such as `nginx.service`.
    pub name: String,
    /// The user whose unit it is, by number; absent for a unit of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// The path of the group below that of the unit; absent for the unit's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

/// A container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Container {
    /// What runs it; absent where the group does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// Its identifier; absent where it has a name alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The image that it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Its pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Pod>,
    /// The path of the group below that of the container; absent for the container's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

/// What runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// containerd, below Kubernetes or nerdctl.
    Containerd,
    /// CRI-O.
    CriO,
    /// Docker.
    Docker,
    /// Podman.
    Podman,
    /// LXC, LXD or Incus.
    Lxc,
    /// systemd-machined, which also lists virtual machines.
    Machined,
}

/// A pod of Kubernetes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pod {
    /// The identifier by which the kubelet names its group; for a static pod a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A task of Nomad.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Task {
    /// Its name.
    pub name: String,
    /// The allocation that it belongs to.
    pub allocation: String,
    /// The path of the group below that of the task; absent for the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}
