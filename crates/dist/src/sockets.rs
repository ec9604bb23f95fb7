//! The owner of a TCP socket of this machine, from the kernel's table of sockets.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// The table of this thread's network namespace.
pub const NET: &str = "/proc/thread-self/net";

/// Most bytes that are read of a table: a million sockets and more.
const MOST: u64 = 192 << 20;

/// The state of an established connection.
const ESTABLISHED: u8 = 1;

/// A socket in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    /// Whether it is one end of a connection that neither end has closed.
    pub is_open: bool,
    /// The user who made it.
    pub uid: u32,
    /// Its inode; 0 if no process has it: it waits to be accepted, or was closed.
    pub inode: u64,
}

/// The socket at this end of a connection, from the tables in this folder.
///
/// # Errors
/// If a table cannot be read, or is too long.
pub fn find(net: &Path, local: SocketAddr, remote: SocketAddr) -> io::Result<Option<Socket>> {
    find_within(net, (local, remote), MOST)
}

fn find_within(
    net: &Path,
    (local, remote): (SocketAddr, SocketAddr),
    most: u64,
) -> io::Result<Option<Socket>> {
    let mut found = None;
    if let (Some(local), Some(remote)) = (shown_v4(local), shown_v4(remote)) {
        found = search(&net.join("tcp"), (&local, &remote), most)?;
    }
    if found.is_some_and(|socket| socket.is_open) {
        return Ok(found);
    }
    // If the other end listens on IPv6 too, an IPv4 connection is in this table.
    match search(&net.join("tcp6"), (&shown_v6(local), &shown_v6(remote)), most) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(found),
        Ok(None) => Ok(found),
        other => other,
    }
}

/// Searches one table. An open socket is preferred to a closed one with the same addresses.
fn search(path: &Path, ends: (&str, &str), most: u64) -> io::Result<Option<Socket>> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut table = BufReader::with_capacity(64 << 10, File::open(path).map_err(named)?.take(most));
    let (mut line, mut found) = (Vec::new(), None);
    while table.read_until(b'\n', &mut line).map_err(named)? > 0 {
        match socket(&line, ends) {
            Some(socket) if socket.is_open => return Ok(Some(socket)),
            other => found = other.or(found),
        }
        line.clear();
    }
    if table.get_ref().limit() == 0 {
        return Err(named(io::Error::other("too many connections to search")));
    }
    Ok(found)
}

/// The socket of a line, if it has these addresses.
fn socket(line: &[u8], (local, remote): (&str, &str)) -> Option<Socket> {
    let mut fields = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    // The first field is the socket's place in the table.
    if fields.nth(1)? != local.as_bytes() || fields.next()? != remote.as_bytes() {
        return None;
    }
    let text = |field: &[u8]| std::str::from_utf8(field).ok().map(str::to_owned);
    let state = u8::from_str_radix(&text(fields.next()?)?, 16).ok()?;
    // Skipped before the user: the lengths of queues, a timer, and retransmissions. Skipped after
    // it: a timeout.
    let uid = text(fields.nth(3)?)?.parse().ok()?;
    let inode = text(fields.nth(1)?)?.parse().ok()?;
    Some(Socket { is_open: state == ESTABLISHED, uid, inode })
}

/// An address as the kernel writes it: words of four bytes in the byte order of this machine.
fn shown(bytes: &[u8], port: u16) -> String {
    let word = |word: &[u8]| {
        let word = <[u8; 4]>::try_from(word).unwrap_or_default();
        format!("{:08X}", u32::from_ne_bytes(word))
    };
    let words: String = bytes.chunks(4).map(word).collect();
    format!("{words}:{port:04X}")
}

fn shown_v4(address: SocketAddr) -> Option<String> {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => Some(shown(&ip.octets(), address.port())),
        IpAddr::V6(_) => None,
    }
}

fn shown_v6(address: SocketAddr) -> String {
    let ip: Ipv6Addr = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    shown(&ip.octets(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    /// As a kernel on a little-endian machine writes it: Eve's listening socket; the client's
    /// end; its other end, closed; the same end, open and with an owner; an end that waits to be
    /// accepted; and a closed end.
    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:ED2D 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65534        0 38528 1 0 100 0 0 10 0
   1: 0100007F:C47C 0100007F:ED2D 01 00000000:00000000 00:00000000 00000000     0        0 40405 1 0 20 4 30 10 -1
   2: 0100007F:ED2D 0100007F:C47C 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
   3: 0100007F:ED2D 0100007F:C47C 01 00000000:00000000 00:00000000 00000000 65534        0 38529 1 0 20 4 30 10 -1
   4: 0100007F:ED2D 0100007F:0007 01 00000000:00000000 00:00000000 00000000 65534        0 0 1 0 20 4 30 10 -1
   5: 0100007F:ED2D 0100007F:0008 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
";

    fn folder(tcp: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tcp"), tcp).unwrap();
        folder
    }

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn the_row_of_the_other_end_is_found_by_both_addresses() {
        if cfg!(target_endian = "big") {
            return;
        }
        let folder = folder(TABLE);
        let find = |port| find(folder.path(), at(0xED2D), at(port)).unwrap();
        let socket = |is_open, uid, inode| Some(Socket { is_open, uid, inode });
        assert_eq!(find(0xC47C), socket(true, 65_534, 38_529));
        assert_eq!(find(7), socket(true, 65_534, 0));
        assert_eq!(find(8), socket(false, 0, 0));
        assert_eq!((find(9), find(0)), (None, None));
    }

    #[test]
    fn a_table_that_is_missing_too_long_or_nonsense_has_no_owner() {
        let folder = folder(TABLE);
        let within = |most| find_within(folder.path(), (at(9), at(9)), most);
        assert!(within(TABLE.len() as u64).unwrap_err().to_string().contains("too many"));
        assert_eq!(within(TABLE.len() as u64 + 1).unwrap(), None);
        assert!(find(Path::new("/nowhere"), at(1), at(2)).is_err());
        for nonsense in ["", "\n\n", "0: 0100007F:0009 0100007F:0009", "\u{0}\n"] {
            std::fs::write(folder.path().join("tcp"), nonsense).unwrap();
            assert_eq!(within(MOST).unwrap(), None, "{nonsense:?}");
        }
    }

    #[test]
    fn connections_of_this_process_are_found_in_the_kernels_own_table() {
        let us = rustix::process::geteuid().as_raw();
        let mut tried = 0;
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            // A machine may have no IPv6.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            let to = if address == "[::]:0" { at(port) } else { listener.local_addr().unwrap() };
            let near = TcpStream::connect(to).unwrap();
            let (own, peer) = (near.local_addr().unwrap(), near.peer_addr().unwrap());
            let find = || find(Path::new(NET), peer, own).unwrap().unwrap();
            assert_eq!((find().is_open, find().inode), (true, 0), "{address}: not accepted yet");
            let accepted = listener.accept().unwrap();
            assert!(find().inode > 0 && find().uid == us, "{address}: {:?}", find());
            drop(accepted);
            testing::once_released(|| (!find().is_open).then_some(()));
            tried += 1;
        }
        assert!(tried > 0, "no address of this machine can be listened at");
    }
}
