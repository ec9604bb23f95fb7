//! Which node is to be asked, and where it is.

use crate::error::DistError;
use erl_dist::epmd::{DEFAULT_EPMD_PORT, EpmdClient};
use erl_dist::node::NodeName;
use futures::executor::block_on;
use futures::io::AllowStdIo;
use model::live::Problem;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The name of a node, and its port where epmd is not to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub(crate) name: NodeName,
    port: Option<u16>,
}

impl Target {
    /// Reads `web@host`, or `web@host:PORT`.
    ///
    /// # Errors
    /// If it is no name of a node.
    pub fn read(text: &str) -> Result<Self, DistError> {
        let wrong = || DistError::Name(text.to_owned());
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let plain = name.chars().all(|letter| letter.is_ascii_graphic());
        let name: NodeName = name.parse().map_err(|_| wrong())?;
        if plain && port != Some(0) { Ok(Target { name, port }) } else { Err(wrong()) }
    }

    /// The node's name.
    pub fn name(&self) -> String {
        self.name.to_string()
    }

    /// Connects to its port.
    ///
    /// # Errors
    /// If epmd does not know it, or nobody answers there.
    pub(crate) fn connect(&self, within: Duration) -> Result<TcpStream, Problem> {
        let port = match self.port {
            Some(port) => port,
            None => self.ask_epmd(within)?,
        };
        let error = Problem::Connect;
        let stream = self.stream(port, within)?.map_err(|e| error(e.to_string()))?;
        stream.set_nodelay(true).map_err(|e| error(e.to_string()))?;
        Ok(stream)
    }

    fn ask_epmd(&self, within: Duration) -> Result<u16, Problem> {
        let no_epmd = Problem::NoEpmd;
        let stream = self.stream(epmd_port(), within)?.map_err(|e| no_epmd(e.to_string()))?;
        let client = EpmdClient::new(AllowStdIo::new(stream));
        let entry = block_on(client.get_node(self.name.name()));
        let entry = entry.map_err(|error| no_epmd(error.to_string()))?;
        entry.map(|entry| entry.port).ok_or(Problem::NotThere)
    }

    /// A connection whose reads and writes end, to the first address of the host that takes one.
    fn stream(&self, port: u16, within: Duration) -> Result<std::io::Result<TcpStream>, Problem> {
        let host = self.name.host();
        let unknown = Problem::Host;
        let all = (host, port).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        let mut last = None;
        for address in all.take(4) {
            let connected = TcpStream::connect_timeout(&address, within).and_then(|stream| {
                stream.set_read_timeout(Some(within))?;
                stream.set_write_timeout(Some(within))?;
                Ok(stream)
            });
            match connected {
                Ok(stream) => return Ok(Ok(stream)),
                error => last = Some(error),
            }
        }
        last.ok_or_else(|| unknown("no address".to_owned()))
    }
}

/// Where epmd listens; Erlang's own tools read the same variable.
fn epmd_port() -> u16 {
    let set = std::env::var("ERL_EPMD_PORT").ok().and_then(|port| port.parse().ok());
    set.filter(|port| *port > 0).unwrap_or(DEFAULT_EPMD_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_what_is_none_is_said() {
        let read = |text: &str| Target::read(text).map(|target| (target.name(), target.port));
        assert_eq!(read("web@host").unwrap(), ("web@host".into(), None));
        assert_eq!(read("web@10.0.0.1:9001").unwrap(), ("web@10.0.0.1".into(), Some(9001)));
        for wrong in ["", "web", "@host", "web@", "web@host:x", "web@host:0", "w b@h", "w\n@h"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains("no name of a node") && !error.contains('\n'), "{error}");
        }
    }
}
