//! The loopback device. Some loads need it, and the kernel leaves it down.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Sets `lo` up; the kernel then gives it its address. A kernel without networking has no such
/// device, and a load that needs it reports that itself.
///
/// # Errors
/// If a system call fails.
pub(super) fn set_up() -> io::Result<()> {
    // SAFETY: no pointer is passed, and only this code owns the descriptor.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        let error = io::Error::last_os_error();
        let no_network = error.raw_os_error() == Some(libc::EAFNOSUPPORT);
        return if no_network { Ok(()) } else { Err(error) };
    }
    // SAFETY: it was just opened, and no other code uses it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: an all-zero request is valid: an empty name and no flags.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, letter) in request.ifr_name.iter_mut().zip(b"lo") {
        // The sign of the type differs between architectures.
        *place = *letter as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request lives until the call returns, and has the type that this call expects.
    let answer =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
