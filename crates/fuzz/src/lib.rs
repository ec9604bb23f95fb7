//! Everything that reads bytes from outside. Each reader has a function that accepts any bytes.
//!
//! `make fuzz` gives each target the inputs of a coverage-guided fuzzer (`engine/`). `cargo test`
//! gives it the kept inputs in `corpus/`. A target has found a defect if it panics, or needs more
//! memory or time than the engine allows.

mod edits;
mod fleet;
mod machine;
mod peers;
mod records;
mod strangers;
mod texts;

/// Code that reads bytes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, which is also the name of its folder in `corpus/`.
    pub name: &'static str,
    /// Accepts any bytes, and must return.
    pub take: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "record", take: records::record },
    Target { name: "record-edits", take: records::edited },
    Target { name: "census", take: fleet::census },
    Target { name: "histogram", take: texts::histogram },
    Target { name: "study", take: texts::study },
    Target { name: "trace", take: texts::trace },
    Target { name: "parameters", take: texts::parameters },
    Target { name: "journal", take: texts::journal },
    Target { name: "node", take: peers::node },
    Target { name: "connection", take: peers::connection },
    Target { name: "guest", take: peers::guest },
    Target { name: "qmp", take: peers::qmp },
    Target { name: "package", take: peers::package },
    Target { name: "kernel-image", take: peers::kernel_image },
    Target { name: "generator", take: peers::generator },
    Target { name: "events", take: peers::events },
    Target { name: "machine", take: machine::machine },
    Target { name: "process", take: machine::process },
    Target { name: "programs", take: peers::programs },
    Target { name: "elf", take: strangers::elf },
    Target { name: "strangers", take: strangers::texts },
    Target { name: "request", take: peers::request },
];

/// The target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
