//! The loopback device, which some loads talk over and which a kernel leaves down.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Sets `lo` up; it has its address by itself then. A kernel without a network has no such device,
/// and what needs one says so itself.
///
/// # Errors
/// If the kernel refuses.
pub(super) fn set_up() -> io::Result<()> {
    // SAFETY: no pointer is passed, and the descriptor is owned here alone.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        let error = io::Error::last_os_error();
        let no_network = error.raw_os_error() == Some(libc::EAFNOSUPPORT);
        return if no_network { Ok(()) } else { Err(error) };
    }
    // SAFETY: it was just opened, and no other code knows of it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: a request of zeroes is one: an empty name and no flag.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, letter) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = letter.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request lives until the call returns, and is what this request takes.
    let answer =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
