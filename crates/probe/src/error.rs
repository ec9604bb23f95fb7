//! Why there are no probes.

/// Why the programs cannot be had; a message names what would give them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// This build has none.
    #[error("eBPF: this tailback was built without it; build with the feature `bpf`")]
    NotBuilt,
    /// A capability is missing.
    #[error(
        "eBPF: this process has neither CAP_SYS_ADMIN nor CAP_BPF with CAP_PERFMON; run as root, \
         or setcap cap_bpf,cap_perfmon+ep on the binary"
    )]
    Privilege,
    /// The kernel does not describe itself.
    #[error(
        "eBPF: {0}: not there, so fields of the kernel cannot be found; boot a kernel with \
         CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf(String),
    /// The kernel is locked down.
    #[error(
        "eBPF: the kernel is locked down ({0}) and lets no program read its memory; boot with \
         lockdown=none or lockdown=integrity"
    )]
    Lockdown(String),
    /// The kernel refused the programs.
    #[error("eBPF: the kernel refused {what}: {why}; dmesg may say more")]
    Refused {
        /// What was to be loaded or attached.
        what: String,
        /// The kernel's or the library's reason.
        why: String,
    },
    /// A library or a symbol does not exist.
    #[error("{what}: {why}")]
    NoSymbol {
        /// The library or the symbol.
        what: String,
        /// Why not, and what next.
        why: String,
    },
    /// The process is gone or was never there.
    #[error("pid {0}: no such process; see ps")]
    NoProcess(u32),
}
