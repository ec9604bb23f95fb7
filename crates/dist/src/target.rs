//! Which node to ask, and where it is.

use crate::cookie::Cookie;
use crate::error::DistError;
use crate::name::NodeName;
use crate::peer;
use crate::timed::Timed;
use model::live::NodeProblem;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Most addresses of a host that are tried.
const ADDRESSES: usize = 4;

/// The port of epmd, unless a variable sets another.
const EPMD_PORT: u16 = 4369;

/// The request to epmd for the port of a node, and the first byte of its answer.
const PORT_PLEASE: u8 = 122;
const PORT: u8 = 119;

/// The longest answer of epmd, in bytes. Any user may have registered a name with much extra
/// data.
const MOST_OF_EPMD: usize = 2 << 10;

/// The name of a node, and its port if epmd is not to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub(crate) name: NodeName,
    port: Option<u16>,
    anywhere: bool,
}

impl Target {
    /// Reads `web@host` or `web@host:PORT`. An IPv6 address as the host takes a port only in
    /// brackets: `web@[::1]:PORT`. The node has to be on this machine, unless `anywhere` is set.
    ///
    /// # Errors
    /// If it is no name of a node.
    pub fn read(text: &str, anywhere: bool) -> Result<Self, DistError> {
        let wrong = || DistError::Name(text.to_owned());
        let (name, port) = parts(text).ok_or_else(wrong)?;
        let port = port.map(|port| port.parse::<u16>().map_err(|_| wrong())).transpose()?;
        let plain = name.chars().all(|letter| letter.is_ascii_graphic());
        let name = NodeName::read(&name).ok_or_else(wrong)?;
        if plain && port != Some(0) { Ok(Target { name, port, anywhere }) } else { Err(wrong()) }
    }

    /// The node's name.
    pub fn name(&self) -> String {
        self.name.to_string()
    }

    /// An address of the host, if all its addresses are on other machines and that is not
    /// allowed. None if the host's name is not resolved within this time.
    pub fn elsewhere(&self, within: Duration) -> Option<IpAddr> {
        if self.anywhere {
            return None;
        }
        let (host, (sender, receiver)) = (self.name.host().to_owned(), mpsc::channel());
        // Resolving a name may take as long as its servers let it.
        let look_up = move || {
            let _ = sender.send(addresses(&host, 0));
        };
        std::thread::Builder::new().name("host".to_owned()).spawn(look_up).ok()?;
        let found = receiver.recv_timeout(within).ok()?.ok()?;
        let is_elsewhere = found.iter().all(|address| !peer::is_here(address.ip()));
        found.first().filter(|_| is_elsewhere).map(SocketAddr::ip)
    }

    /// Connects to the node's port, after a check that a proof of the cookie may be sent there.
    ///
    /// # Errors
    /// If epmd does not know the node, nobody answers there, or the port belongs to somebody
    /// else.
    pub(crate) fn connect(
        &self,
        cookie: &Cookie,
        within: Duration,
    ) -> Result<TcpStream, NodeProblem> {
        let port = match self.port {
            Some(port) => port,
            None => self.ask_epmd(epmd_port(), within)?,
        };
        let error = |error: io::Error| NodeProblem::Connect(error.to_string());
        let (stream, is_here) = self.stream(port, within)?.map_err(error)?;
        stream.set_nodelay(true).map_err(error)?;
        peer::verify(&stream, is_here, cookie, Instant::now() + within)?;
        Ok(stream)
    }

    /// Asks epmd for the port. Any user of the host may have registered the name.
    fn ask_epmd(&self, port: u16, within: Duration) -> Result<u16, NodeProblem> {
        let no_epmd = |error: io::Error| NodeProblem::NoEpmd(error.to_string());
        let (stream, _) = self.stream(port, within)?.map_err(no_epmd)?;
        let timed = Timed::new(&stream, Instant::now() + within, MOST_OF_EPMD);
        registered(timed, self.name.name()).map_err(no_epmd)?.ok_or(NodeProblem::NotThere)
    }

    /// A connection to the first address of the host that accepts one, and whether that address
    /// is on this machine. Addresses that are not allowed are not tried.
    fn stream(
        &self,
        port: u16,
        within: Duration,
    ) -> Result<io::Result<(TcpStream, bool)>, NodeProblem> {
        let unknown = |error: io::Error| NodeProblem::Host(error.to_string());
        let mut last = Err(NodeProblem::Host("no address".to_owned()));
        for address in addresses(self.name.host(), port).map_err(unknown)? {
            let is_here = peer::is_here(address.ip());
            if !is_here && !self.anywhere {
                last = last.map_err(|_| NodeProblem::Elsewhere(address.ip().to_string()));
                continue;
            }
            match TcpStream::connect_timeout(&address, within) {
                Ok(stream) => return Ok(Ok((stream, is_here))),
                Err(error) => last = Ok(Err(error)),
            }
        }
        last
    }
}

/// The name without brackets, and what stands after it as the port; None if the brackets are wrong.
fn parts(text: &str) -> Option<(String, Option<&str>)> {
    if let Some((name, host)) = text.split_once("@[") {
        let (host, behind) = host.split_once(']')?;
        let port = if behind.is_empty() { None } else { Some(behind.strip_prefix(':')?) };
        return Some((format!("{name}@{host}"), port));
    }
    Some(match text.split_once(':') {
        Some((name, port)) if !port.contains(':') => (name.to_owned(), Some(port)),
        // Several colons are those of an IPv6 address.
        _ => (text.to_owned(), None),
    })
}

/// The port that a name is registered with; None if epmd does not know the name.
fn registered(mut epmd: Timed<'_>, name: &str) -> io::Result<Option<u16>> {
    let nonsense = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let length = u16::try_from(1 + name.len()).map_err(|error| nonsense(error.to_string()))?;
    let question = [&length.to_be_bytes()[..], &[PORT_PLEASE], name.as_bytes()].concat();
    epmd.write_all(&question)?;
    let mut head = [0; 2];
    epmd.read_exact(&mut head)?;
    match head {
        [PORT, 0] => {}
        [PORT, 1] => return Ok(None),
        other => return Err(nonsense(format!("it answers {other:?}"))),
    }
    // The port, the kind of node, and the versions it speaks.
    let mut entry = [0; 8];
    epmd.read_exact(&mut entry)?;
    // Its name and extra data. A real epmd sends the answer to its end.
    for _ in 0..2 {
        let mut length = [0; 2];
        epmd.read_exact(&mut length)?;
        epmd.read_exact(&mut vec![0; usize::from(u16::from_be_bytes(length))])?;
    }
    Ok(Some(u16::from_be_bytes([entry[0], entry[1]])))
}

fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.take(ADDRESSES).collect())
}

/// The port of epmd. Erlang's own tools read the same variable.
fn epmd_port() -> u16 {
    let set = std::env::var("ERL_EPMD_PORT").ok().and_then(|port| port.parse().ok());
    set.filter(|port| *port > 0).unwrap_or(EPMD_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn names_are_read_and_what_is_none_is_said() {
        let read =
            |text: &str| Target::read(text, false).map(|target| (target.name(), target.port));
        assert_eq!(read("web@host").unwrap(), ("web@host".into(), None));
        assert_eq!(read("web@10.0.0.1:9001").unwrap(), ("web@10.0.0.1".into(), Some(9001)));
        let long = "web@fdaa:0:da4:a7b:1f60:1:2:3";
        assert_eq!(read(long).unwrap(), (long.into(), None));
        assert_eq!(read("web@[::1]:9001").unwrap(), ("web@::1".into(), Some(9001)));
        assert_eq!(read("web@[::1]").unwrap(), ("web@::1".into(), None));
        for wrong in [
            "",
            "web",
            "@host",
            "web@",
            "web@host:x",
            "web@host:0",
            "w b@h",
            "w\n@h",
            "web@[::1",
            "web@[::1]9",
            "web@[]",
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("not the name of a node") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn another_machine_is_not_connected_to_unless_that_is_allowed() {
        let within = Duration::from_secs(60);
        let read = |text, anywhere| Target::read(text, anywhere).unwrap();
        // An address reserved for documentation: a connection to it would use the whole time
        // limit.
        let there = read("web@192.0.2.1:9", false);
        assert_eq!(there.elsewhere(within), Some([192, 0, 2, 1].into()));
        let refused = there.connect(&Cookie::of("GEHEIM", 0), within).unwrap_err();
        assert_eq!(refused, NodeProblem::Elsewhere("192.0.2.1".to_owned()));
        let by_epmd = read("web@192.0.2.1", false).connect(&Cookie::of("GEHEIM", 0), within);
        assert_eq!(by_epmd.unwrap_err(), NodeProblem::Elsewhere("192.0.2.1".to_owned()));
        assert_eq!(read("web@192.0.2.1", true).elsewhere(within), None);
        assert_eq!(read("web@127.0.0.1", false).elsewhere(within), None);
    }

    /// The result of asking an epmd that sends this answer again and again, byte by byte with
    /// this pause.
    fn epmd(answer: Vec<u8>, pause: Duration, within: Duration) -> Result<u16, NodeProblem> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            for byte in answer.iter().cycle() {
                if stream.write_all(&[*byte]).is_err() {
                    return;
                }
                std::thread::sleep(pause);
            }
            // Sends nothing, and waits until we close.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let target = Target::read("web@127.0.0.1", false).unwrap();
        target.ask_epmd(port, within)
    }

    #[test]
    fn an_epmd_that_never_answers_or_never_ends_is_none() {
        let (quick, short, long) =
            (Duration::ZERO, Duration::from_millis(400), Duration::from_secs(60));
        // Port and kind of node; then a name and extra data.
        let entry = [119, 0, 0x9C, 0x40, 77, 0, 0, 6, 0, 6];
        let answer = |behind: &[u8]| [&entry[..], behind].concat();
        assert_eq!(epmd(answer(&[0, 3, b'w', b'e', b'b', 0, 0]), quick, long), Ok(40_000));
        assert_eq!(epmd(vec![119, 1], quick, long), Err(NodeProblem::NotThere));
        for (wrong, pause, within) in [
            (Vec::new(), quick, short),
            (answer(&[255, 255]), quick, long),
            (answer(&[0, 3, b'w', b'e', b'b', 255, 255]), quick, long),
            (answer(&[0, 3]), Duration::from_millis(100), short),
            (vec![0], quick, long),
        ] {
            let error = epmd(wrong.clone(), pause, within).unwrap_err();
            assert!(matches!(error, NodeProblem::NoEpmd(_)), "{wrong:?}: {error:?}");
        }
    }
}
