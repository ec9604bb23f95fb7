//! Answers of Erlang nodes about themselves, in English.

use super::plain;
use model::Unit;
use model::live::{Inside, NodeFigures, NodeProblem};
use model::prose::figures::{figure, percent, plural};
use watch::findings::words::mailbox;

/// The answers of a node, on a few lines.
pub fn inside(inside: &Inside) -> String {
    let mut text = format!("Inside {}:", plain(&inside.name));
    if let Some(why) = &inside.problem {
        let why = problem(why);
        let end = if why.ends_with('?') { "" } else { "." };
        text.push_str(&format!(" {why}{end}"));
    }
    if let Some(figures) = &inside.figures {
        text.push_str(&answered(figures));
    }
    text
}

fn answered(figures: &NodeFigures) -> String {
    let mib = |bytes: u64| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20));
    let memory = &figures.memory;
    let mut text = format!(
        " OTP {}{}, {} processes. {} online, utilisation {}. On average {:.1} tasks wait in run \
         queues (dirty CPU {:.1}, dirty IO {:.1}); the queues were even in {} of the samples. \
         Memory {}: processes {}, binaries {}, tables {}. The slowest answer took {}; the last \
         is {} old.",
        plain(&figures.otp),
        if figures.is_untried { " (newer than any tested)" } else { "" },
        figures.processes,
        plural(figures.online.into(), "scheduler"),
        shares(&figures.used),
        figures.run_queue,
        figures.dirty_cpu_queue,
        figures.dirty_io_queue,
        percent(figures.even),
        mib(memory.total),
        mib(memory.processes),
        mib(memory.binary),
        mib(memory.ets),
        figure(figures.took_ms, Unit::Milliseconds),
        figure(figures.age_ms, Unit::Milliseconds),
    );
    text.push_str(&states(figures));
    for link in &figures.links {
        text.push_str(&format!(
            " In {} of the samples data waited to be sent to {}, at one time at least {}.",
            percent(link.waiting),
            plain(&link.node),
            figure(link.bytes as f64, Unit::Bytes),
        ));
    }
    if let Some(longest) = figures.mailboxes.first() {
        text.push_str(&format!(" The longest mailbox: {}.", mailbox(longest)));
    }
    text
}

/// The time of the normal schedulers by state, from microstate accounting. The other threads are
/// only in the record.
fn states(figures: &NodeFigures) -> String {
    let Some(of) = figures.micro.iter().find(|one| one.threads == "scheduler") else {
        return String::new();
    };
    let mut shares: Vec<_> = of.shares.iter().filter(|(_, share)| **share >= 0.005).collect();
    shares.sort_by(|a, b| b.1.total_cmp(a.1));
    let of = |(state, share): &(&String, &f64)| format!("{} {}", plain(state), percent(**share));
    let shares: Vec<String> = shares.iter().map(of).collect();
    format!(" Its schedulers spent their time in: {}.", shares.join(", "))
}

/// The utilisation of each scheduler; of many schedulers, the first ones.
fn shares(used: &[f64]) -> String {
    let shown: Vec<String> = used.iter().take(8).map(|used| percent(*used)).collect();
    match (shown.is_empty(), used.len() > shown.len()) {
        (true, _) => "-".to_owned(),
        (false, true) => format!("{} ..", shown.join(" ")),
        (false, false) => shown.join(" "),
    }
}

/// Why a node is not asked or does not answer, and what to do next.
pub fn problem(problem: &NodeProblem) -> String {
    match problem {
        NodeProblem::Connecting => "connecting to it".to_owned(),
        NodeProblem::Host(why) => {
            format!("its host is not known ({}); add a line to /etc/hosts", plain(why))
        }
        NodeProblem::NoEpmd(why) => {
            format!("epmd does not answer ({}); name the port: web@host:PORT", plain(why))
        }
        NodeProblem::NotThere => {
            "epmd does not know this node; epmd -names lists the nodes that it knows".to_owned()
        }
        NodeProblem::Connect(why) => {
            format!(
                "nothing answers at its port ({}); has it ended, or does a firewall block it?",
                plain(why)
            )
        }
        NodeProblem::Elsewhere(address) => format!(
            "its host is another machine ({}), and the owner of a port there is not visible from \
             here; run tailback on that machine, or add --node-anywhere",
            plain(address)
        ),
        NodeProblem::ForeignPort { port_user, cookie_user } => format!(
            "its port belongs to user {port_user}, and the cookie file to user {cookie_user}; \
             nothing was sent, and it is not asked again; if user {port_user} runs the node, name \
             a cookie file of that user: --cookie-file FILE"
        ),
        NodeProblem::UnknownOwner(why) => format!(
            "the owner of its port cannot be found ({}), so it got no proof of the cookie",
            plain(why)
        ),
        NodeProblem::OtherName(name) => format!(
            "the node at its port is {}; it got no proof of the cookie and is not asked again; use \
             that name: --node NAME:PORT",
            plain(name)
        ),
        NodeProblem::WrongCookie => "wrong cookie, so it is not asked again; name the file of its \
                                 cookie: --cookie-file FILE"
            .to_owned(),
        NodeProblem::Tls => {
            "it accepts only TLS, which tailback does not speak; it is still watched from outside"
                .to_owned()
        }
        NodeProblem::Refused(why) => format!("it refuses the connection: {}", plain(why)),
        NodeProblem::NoProcess(why) if why == "system_limit" => {
            "it has as many processes as +P allows and cannot start one to answer; tailback asks \
             again"
                .to_owned()
        }
        NodeProblem::NoProcess(why) => {
            format!("it did not start a process to answer ({}); tailback asks again", plain(why))
        }
        NodeProblem::Release(otp) => format!(
            "it is OTP {}, and tailback asks only OTP 25 and later; it is still watched from \
             outside",
            plain(otp)
        ),
        NodeProblem::Silent(ms) => format!(
            "no answer for {}; its schedulers may be stuck; it is still watched from outside",
            figure(*ms as f64, Unit::Milliseconds)
        ),
        NodeProblem::Nonsense(why) => {
            format!("it does not answer like an Erlang node ({}); is it one?", plain(why))
        }
        NodeProblem::Memory(most) => format!(
            "its answer does not fit into the {most} MiB that tailback has for the answers of all \
             nodes; tailback asks again"
        ),
        NodeProblem::Ended => "it ended, or closed the connection; it is asked again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{BusyLink, Mailbox, Micro};

    #[test]
    fn what_a_node_says_cannot_steer_a_terminal() {
        let evil = "\u{1b}[2J\n".to_owned();
        let figures = NodeFigures {
            otp: evil.clone(),
            mailboxes: vec![Mailbox { name: evil.clone(), length: 9, ..Mailbox::default() }],
            micro: vec![Micro {
                threads: "scheduler".to_owned(),
                shares: [(evil.clone(), 1.0)].into(),
            }],
            links: vec![BusyLink { node: evil.clone(), waiting: 1.0, bytes: 1 }],
            ..NodeFigures::default()
        };
        let problem = Some(NodeProblem::Nonsense(evil.clone()));
        let text = inside(&Inside { name: evil.clone(), problem, figures: Some(figures) });
        assert!(!text.contains(['\u{1b}', '\n']), "{text:?}");
    }
}
