//! The accelerator of a guest, and the time base of its clock.

/// The accelerator of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accel {
    /// The CPUs of the host.
    Kvm,
    /// Emulation.
    Tcg,
}

/// The accelerator that the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// KVM, if a test shows that it works.
    Auto,
    /// Only this accelerator.
    Only(Accel),
}

/// The time base of an emulated guest's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The host's time. The guest's CPUs run in parallel. They lose the time that the host uses
    /// for other work.
    Host,
    /// Executed instructions, one nanosecond each. The guest's CPUs take turns. Other work of the
    /// host is invisible in the guest, and time in which all CPUs are idle is skipped.
    Instructions,
}

impl Clock {
    /// Its name, for flags and records.
    pub fn word(self) -> &'static str {
        match self {
            Clock::Host => "host",
            Clock::Instructions => "instructions",
        }
    }
}

impl Accel {
    /// Its name for QEMU.
    pub fn word(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg",
        }
    }
}
