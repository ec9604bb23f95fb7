//! The function whose calls are counted.

/// The function whose calls are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTarget {
    /// The process.
    pub pid: u32,
    /// The library: the last part of its path, such as `libcrypto.so.3`, or the whole path.
    pub library: String,
    /// The function.
    pub symbol: String,
    /// The number of the argument that is a size, counted from 1; None if no size is added up.
    pub size_argument: Option<u32>,
}
