//! The owner of a control group, in the terms of those who operate it.

use serde::{Deserialize, Serialize};

/// The owner of a control group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// A systemd unit.
    Unit(SystemdUnit),
    /// A container.
    Container(Container),
    /// All containers of a pod.
    Pod(Pod),
    /// A task of Nomad.
    Task(NomadTask),
}

/// A systemd unit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemdUnit {
    /// Its name with its suffix, such as `nginx.service`.
    pub name: String,
    /// The uid of the user who owns the unit; absent for a unit of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// The path of the group below the group of the unit; absent for the unit's own group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

/// A container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Container {
    /// The container engine; absent if the name of the group does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// Its id; absent if only the name is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The image that it was started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The pod that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Pod>,
    /// The path of the group below the group of the container; absent for the container's own
    /// group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

/// A container engine.
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

/// A Kubernetes pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pod {
    /// The id that the kubelet uses in the group's name; a digest for a static pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A Nomad task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NomadTask {
    /// Its name.
    pub name: String,
    /// The allocation that it belongs to.
    pub allocation: String,
    /// The path of the group below the group of the task; absent for the task's own group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}
