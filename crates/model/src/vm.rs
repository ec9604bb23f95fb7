//! The Erlang VM that a trial ran in.

use serde::{Deserialize, Serialize};

/// What an Erlang VM reports about itself; a figure that it does not know is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Vm {
    /// OTP release: `25`.
    pub otp: String,
    /// Version of the run-time system: `13.1.5`.
    pub erts: String,
    /// The path of the `erl` that was started.
    pub erl: String,
    /// The user as which it ran; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The Debian package from which the OTP was fetched; absent for an OTP that was on the
    /// machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OtpOrigin>,
    /// Emulator flags that are not the defaults.
    pub flags: Vec<String>,
    /// Normal schedulers.
    pub schedulers: u32,
    /// Normal schedulers that are online.
    pub schedulers_online: u32,
    /// Dirty CPU schedulers that are online.
    pub dirty_cpu_online: u32,
    /// Dirty I/O schedulers.
    pub dirty_io: u32,
    /// Logical processors that the VM thinks it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors_available: Option<u32>,
    /// CPU quota that the VM detected, in CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<u32>,
}

/// The Debian suite and package version from which an OTP was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtpOrigin {
    /// The suite: `trixie`.
    pub suite: String,
    /// The version of the package `erlang-base`: `1:27.3.4.1+dfsg-1+deb13u3`.
    pub version: String,
}
