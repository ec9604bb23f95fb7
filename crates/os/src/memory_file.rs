//! Files in memory, which have no name in the file tree.

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// Makes an empty file that nobody can execute. It can be sealed, and ends with the last process
/// that has it open. Only /proc shows the name.
///
/// # Errors
/// If the kernel has no memory or no descriptor left.
pub fn create(name: &str) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // If vm.memfd_noexec is 2, the kernel requires the third flag. Kernels before 6.3 do not know
    // it.
    let made = match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(name, flags),
        made => made,
    };
    Ok(File::from(made?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_is_no_program_where_the_kernel_can_promise_that() {
        let file = create("test").unwrap();
        if matches!(memfd_create("test", MemfdFlags::NOEXEC_SEAL), Err(Errno::INVAL)) {
            return testing::does_not_apply("this kernel is older than Linux 6.3");
        }
        assert_eq!(file.metadata().unwrap().mode() & 0o111, 0);
    }
}
