//! What Erlang nodes say of themselves.

use super::plain;
use model::Unit;
use model::live::{Inside, Mailbox, MailboxFlood, Problem, Said, UnevenQueues};
use model::prose::figures::{figure, percent, plural};

/// A node that was asked, on a few lines.
pub fn inside(inside: &Inside) -> String {
    let mut text = format!("Inside {}:", plain(&inside.name));
    if let Some(why) = &inside.problem {
        let why = problem(why);
        let end = if why.ends_with('?') { "" } else { "." };
        text.push_str(&format!(" {why}{end}"));
    }
    if let Some(said) = &inside.said {
        text.push_str(&told(said));
    }
    text
}

fn told(said: &Said) -> String {
    let mib = |bytes: u64| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20));
    let memory = &said.memory;
    let mut text = format!(
        " OTP {}{}, {} processes; {} online, used {}; run queues {:.1} (dirty {:.1} and {:.1}), even \
         in {} of the answers; {} (processes {}, binaries {}, tables {}). Answered in {} at most, \
         {} ago.",
        plain(&said.otp),
        if said.is_untried { " (newer than any that was tried)" } else { "" },
        said.processes,
        plural(said.online.into(), "scheduler"),
        shares(&said.used),
        said.run_queue,
        said.dirty_cpu_queue,
        said.dirty_io_queue,
        percent(said.even),
        mib(memory.total),
        mib(memory.processes),
        mib(memory.binary),
        mib(memory.ets),
        figure(said.took_ms, Unit::Milliseconds),
        figure(said.age_ms, Unit::Milliseconds),
    );
    text.push_str(&micro(said));
    for link in &said.links {
        text.push_str(&format!(
            " In {} of the answers data waited to be sent to {}, at least {} at one time.",
            percent(link.waiting),
            plain(&link.node),
            figure(link.bytes as f64, Unit::Bytes),
        ));
    }
    if let Some(longest) = said.mailboxes.first() {
        text.push_str(&format!(" Longest mailbox: {}.", mailbox(longest)));
    }
    text
}

/// What the normal schedulers did, by microstate accounting; the other threads are in the record.
fn micro(said: &Said) -> String {
    let Some(of) = said.micro.iter().find(|one| one.threads == "scheduler") else {
        return String::new();
    };
    let mut shares: Vec<_> = of.shares.iter().filter(|(_, share)| **share >= 0.005).collect();
    shares.sort_by(|a, b| b.1.total_cmp(a.1));
    let of = |(state, share): &(&String, &f64)| format!("{} {}", plain(state), percent(**share));
    let shares: Vec<String> = shares.iter().map(of).collect();
    format!(" States of its schedulers: {}.", shares.join(", "))
}

/// A mailbox: whose, how long, how fast it grows.
fn mailbox(mailbox: &Mailbox) -> String {
    format!(
        "{} of {}, {} a second more",
        plural(mailbox.length, "message"),
        process(mailbox),
        figure(mailbox.growth_per_s.round(), Unit::Count),
    )
}

fn process(mailbox: &Mailbox) -> String {
    match mailbox.name.is_empty() {
        true => plain(&mailbox.process),
        false => format!("{} {}", plain(&mailbox.name), plain(&mailbox.process)),
    }
}

/// A process that scans its mailbox.
pub fn flood(facts: &MailboxFlood) -> String {
    let one = &facts.mailbox;
    let callers: Vec<String> = one.callers.iter().map(|caller| plain(caller)).collect();
    let callers = match callers.as_slice() {
        [] => String::new(),
        callers => format!(", called by {}", callers.join(", ")),
    };
    let off_heap =
        if one.off_heap { " The messages are off its heap, which does not help." } else { "" };
    format!(
        "{} of node {}: {}. In {} of {} it did not wait, and in {} of these it was in {}{callers}: \
         that waits for one message, and looks at all that are queued before.{off_heap}",
        process(one),
        plain(&facts.node),
        mailbox(one),
        percent(one.running),
        plural(one.samples.into(), "look"),
        percent(one.in_function),
        plain(&one.function),
    )
}

/// Run queues that are uneven.
pub fn uneven(facts: &UnevenQueues) -> String {
    format!(
        "In {} of {} answers of node {} {:.0} waited in one run queue while another had none; its \
         schedulers were used {}: those that sleep do not look for that work.",
        percent(facts.uneven),
        facts.answers,
        plain(&facts.node),
        facts.longest,
        shares(&facts.used),
    )
}

/// How much each scheduler was used; of many the first ones.
fn shares(used: &[f64]) -> String {
    let shown: Vec<String> = used.iter().take(8).map(|used| percent(*used)).collect();
    match (shown.is_empty(), used.len() > shown.len()) {
        (true, _) => "-".to_owned(),
        (false, true) => format!("{} ..", shown.join(" ")),
        (false, false) => shown.join(" "),
    }
}

/// Why a node is not asked or does not answer, and what next.
pub fn problem(problem: &Problem) -> String {
    match problem {
        Problem::Connecting => "it is being connected to".to_owned(),
        Problem::Host(why) => {
            format!("its host is not known ({}); a line in /etc/hosts makes it known", plain(why))
        }
        Problem::NoEpmd(why) => {
            format!("no epmd answers ({}); without epmd name its port: web@host:PORT", plain(why))
        }
        Problem::NotThere => {
            "epmd knows no such node; epmd -names lists those that there are".to_owned()
        }
        Problem::Connect(why) => {
            format!(
                "nothing answers at its port ({}); has it ended, or is a firewall between?",
                plain(why)
            )
        }
        Problem::Elsewhere(address) => format!(
            "its host is another machine ({}), and from here nobody can see whose port it is there; \
             run tailback on that machine, or add --node-anywhere",
            plain(address)
        ),
        Problem::ForeignPort { port_user, cookie_user } => format!(
            "its port belongs to user {port_user}, and the cookie file to user {cookie_user}; nothing \
             was sent there, and it is not asked again; if the node is that user's, name a cookie \
             file that this user owns: --cookie-file FILE"
        ),
        Problem::UnknownOwner(why) => format!(
            "whose port it is cannot be found out ({}), so the cookie is kept from it",
            plain(why)
        ),
        Problem::OtherName(name) => format!(
            "the node at its port is {}; the cookie was kept from it, and it is not asked again; name \
             it so: --node NAME:PORT",
            plain(name)
        ),
        Problem::WrongCookie => "wrong cookie, so it is not asked again; name the file that holds \
                                 this node's: --cookie-file FILE"
            .to_owned(),
        Problem::Tls => {
            "it speaks TLS alone, which tailback does not; the view from outside goes on".to_owned()
        }
        Problem::Refused(why) => format!("it refuses the connection: {}", plain(why)),
        Problem::Release(otp) => format!(
            "it is OTP {}, and tailback asks 25 and later; the view from outside goes on",
            plain(otp)
        ),
        Problem::Silent(ms) => format!(
            "no answer for {}; its schedulers may be the trouble, and the view from outside goes on",
            figure(*ms as f64, Unit::Milliseconds)
        ),
        Problem::Nonsense(why) => {
            format!("it answers what no node answers ({}); is it one?", plain(why))
        }
        Problem::Ended => "it has ended, or closed the connection; it is tried again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{BusyLink, Micro};

    #[test]
    fn what_a_node_says_cannot_steer_a_terminal() {
        let evil = "\u{1b}[2J\n".to_owned();
        let said = Said {
            otp: evil.clone(),
            mailboxes: vec![Mailbox { name: evil.clone(), length: 9, ..Mailbox::default() }],
            micro: vec![Micro {
                threads: "scheduler".to_owned(),
                shares: [(evil.clone(), 1.0)].into(),
            }],
            links: vec![BusyLink { node: evil.clone(), waiting: 1.0, bytes: 1 }],
            ..Said::default()
        };
        let problem = Some(Problem::Nonsense(evil.clone()));
        let text = inside(&Inside { name: evil.clone(), problem, said: Some(said) });
        assert!(!text.contains(['\u{1b}', '\n']), "{text:?}");
        let mailbox = Mailbox { function: evil.clone(), callers: vec![evil], ..Mailbox::default() };
        let text = flood(&MailboxFlood { node: "a@b".into(), mailbox });
        assert!(!text.contains(['\u{1b}', '\n']), "{text:?}");
    }
}
