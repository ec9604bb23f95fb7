//! Connections of a node to other nodes, and the bytes that wait to be sent over them.

use crate::calls::Call;
use crate::view;
use beam::Term;
use beam::term::{self, atom};

/// Most connections that are asked about. A cluster may have hundreds, and question and answer
/// have to stay short.
const MOST: usize = 64;

/// A connection whose port is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The node at its other end.
    pub node: String,
    port: Term,
}

/// Asks for the connections of a node.
pub fn question() -> Call {
    Call::new("erlang", "system_info", vec![atom("dist_ctrl")])
}

/// Reads the answer to [`question`]: the connections over a port. A connection that a process
/// drives, as with TLS, has no queue that could be asked for.
pub fn read(answer: &Term, own_name: &str) -> Vec<Link> {
    let all = term::as_list(answer).unwrap_or_default();
    let of = |one: &Term| {
        let [node, port] = term::as_tuple::<2>(one).ok()?;
        let node = term::as_atom(node).ok().filter(|node| *node != own_name)?;
        matches!(port, Term::Port(_)).then(|| (view::name(node), port.clone()))
    };
    let mut links: Vec<Link> = Vec::new();
    for (node, port) in all.iter().filter_map(of) {
        if links.len() == MOST {
            break;
        }
        if links.iter().all(|link| link.node != node) {
            links.push(Link { node, port });
        }
    }
    links
}

/// Asks how many bytes wait in the ports of these connections.
pub fn queues_question(links: &[Link]) -> Call {
    let ports = links.iter().map(|link| link.port.clone()).collect();
    Call::each(("erlang", "port_info"), ports, &atom("queue_size"))
}

/// Reads the answer to [`queues_question`]: the node and the waiting bytes of each connection
/// that still exists.
pub fn queues(links: &[Link], answer: &Term) -> Vec<(String, u64)> {
    let Ok(all) = term::as_list(answer) else { return Vec::new() };
    let bytes = |info: &Term| {
        let [_, bytes] = term::as_tuple::<2>(info).ok()?;
        term::as_u64(bytes).ok()
    };
    let each = links.iter().zip(all.iter());
    each.filter_map(|(link, info)| Some((link.node.clone(), bytes(info)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use beam::Port;
    use beam::term::{list, tuple, uint};

    #[test]
    fn bytes_are_told_of_ports_alone_and_not_of_our_own() {
        let port = |id| Term::from(Port { node: "a@b".into(), id, creation: 1 });
        let link = |node: &str, port| tuple(vec![atom(node), port]);
        let again = link("c@d", port(3));
        let all = [link("c@d", port(1)), link("tls@d", atom("x")), link("us@d", port(2)), again];
        let links = read(&list(all.to_vec()), "us@d");
        assert_eq!(links.iter().map(|link| &link.node).collect::<Vec<_>>(), ["c@d"]);
        let size = tuple(vec![atom("queue_size"), uint(70)]);
        assert_eq!(queues(&links, &list(vec![size])), [("c@d".to_owned(), 70)]);
        assert_eq!(queues(&links, &list(vec![atom("undefined")])), []);
        assert_eq!(read(&atom("nonsense"), ""), []);
    }
}
