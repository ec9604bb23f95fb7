//! What runs a guest, and what its clock counts.

/// What runs a guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accel {
    /// The CPUs of the host.
    Kvm,
    /// Emulation.
    Tcg,
}

/// What the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// KVM if a test shows that it works.
    Auto,
    /// This and nothing else.
    Only(Accel),
}

/// What an emulated guest's clock counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The host's time. Its CPUs run side by side; what the host does meanwhile, they lose.
    Host,
    /// Instructions, a nanosecond each. Its CPUs take turns; what the host does meanwhile, no guest
    /// can see, and time in which all are idle is skipped.
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
    /// Its name, as QEMU has it.
    pub fn word(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg",
        }
    }
}
