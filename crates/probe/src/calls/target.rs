//! What is counted.

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTarget {
    /// The process.
    pub pid: u32,
    /// The library: the end of its file's name, as `libcrypto.so.3`, or a path.
    pub library: String,
    /// The function.
    pub symbol: String,
    /// Which of its arguments is a size, from 1; none where no size is added up.
    pub size_argument: Option<u32>,
}
