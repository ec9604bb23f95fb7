//! How a kernel is searched for.

/// What a search for a kernel has to find.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Search {
    /// Whether a newer package than the cached one is searched for.
    pub refresh: bool,
    /// Whether the kernel has to come with its driver of loop devices, if that is a module.
    pub loop_devices: bool,
}
