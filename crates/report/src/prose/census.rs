//! The census of a fleet in English.

use model::State;
use model::census::{
    Census, Condition, Conditions, Cut, Example, Factor, Group, Hosts, Odd, RecordPlace, Run,
    ScenarioCensus, ScenarioSince, SetAside, Share, Side, Since, Telling, Why,
};
use model::estimate::number;
use model::prose::figures::{amount_alone, plural};
use os::terminal::line as plain;

/// Why hosts of one kind do not count as independent; shown below the table of the page.
pub const NOTE: &str = "Hosts of one kind share their kernel, their machine and things that no \
    record shows, so they do not count as independent. Each interval allows for differences \
    between kinds, and the test of a factor permutes whole kinds. docs/statistics.md has the \
    methods.";

/// The meaning of the two ranges of a share.
pub fn about(census: &Census) -> String {
    let undecided = census.scenarios.iter().map(|one| one.hosts.undecided()).max().unwrap_or(0);
    let here = match (undecided, &census.unreachable) {
        (0, Some(_)) => "every host has an answer, so the share is a count, not an estimate",
        (0, None) => "every host with a record has an answer, so the share is a count of these",
        (_, Some(_)) => "undecided hosts count first as clear, then as affected",
        (_, None) => "hosts with a record; undecided ones count first as clear, then as affected",
    };
    format!("This fleet: {here}. Fleets like it: 95% interval for fleets with kinds sampled alike.")
}

/// A warning that the named condition is not necessarily the cause. None if no condition is
/// named, or if the owners of the hosts are known.
pub fn caveat(scenario: &ScenarioCensus) -> Option<&'static str> {
    match &scenario.apart {
        Telling::Conditions(conditions) if conditions.owners.is_none() => Some(
            "hosts of one owner or rack may share another cause; name the owner of each host in \
             --hosts to test that",
        ),
        _ => None,
    }
}

/// What was read, on one line.
pub fn headline(census: &Census) -> String {
    let read = &census.read;
    let records = read.records + read.briefs;
    let mut text = format!("{} of {}", plural(census.hosts, "host"), plural(census.kinds, "kind"));
    if let Some(missing) = &census.unreachable {
        text += &format!(", {} unreachable", missing.count);
    }
    text += &format!(", {}", plural(records, "record"));
    if let (Some(first), Some(last)) = (&read.first, &read.last) {
        let day = |time: &str| plain(time).chars().take(10).collect::<String>();
        let (first, last) = (day(first), day(last));
        text +=
            &if first == last { format!(", of {first}") } else { format!(", {first} to {last}") };
    }
    text
}

/// A share as a rounded percentage: `0.17%`, `2.8%`, `97%`.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 9.95 => format!("{percent:.0}%"),
        percent if percent >= 1.0 => format!("{}%", number((percent * 10.0).round() / 10.0)),
        percent => format!("{}%", number((percent * 100.0).round() / 100.0)),
    }
}

/// The same with `more` digits after the point, if it would have none.
fn finer(share: f64, more: usize) -> String {
    if more > 0 && share >= 0.0995 { format!("{:.more$}%", share * 100.0) } else { percent(share) }
}

/// A way to write shares with just enough digits to distinguish `low` from `high`.
fn apart(low: f64, high: f64) -> impl Fn(f64) -> String {
    // With very many hosts an interval may be narrower than a percent.
    let digits = [0, 1, 2].into_iter().find(|more| finer(low, *more) != finer(high, *more));
    move |share: f64| finer(share, digits.unwrap_or(0))
}

/// The share of affected hosts among the hosts with a settled answer: `11%`.
pub fn rate(share: &Share) -> String {
    percent(share.affected as f64 / share.of.max(1) as f64)
}

/// The share in this fleet. The range has the undecided hosts first as clear, then as affected:
/// `9.8% to 14%`.
pub fn this_fleet(share: &Share) -> String {
    if share.undecided == 0 {
        return rate(share);
    }
    let shown = apart(share.least, share.most);
    format!("{} to {}", shown(share.least), shown(share.most))
}

/// The interval for similar fleets: `2.4% to 33%`.
pub fn fleets_like_it(share: &Share) -> String {
    let (Some(low), Some(high)) = (share.low, share.high) else { return "no interval".to_owned() };
    let shown = apart(low, high);
    format!("{} to {}", shown(low), shown(high))
}

/// A share with its interval: `11% [2.4%, 30%]`.
pub fn share(share: &Share) -> String {
    let (Some(low), Some(high)) = (share.low, share.high) else {
        return format!("{} [no interval]", rate(share));
    };
    let shown = apart(low, high);
    let settled = share.affected as f64 / share.of.max(1) as f64;
    format!("{} [{}, {}]", shown(settled), shown(low), shown(high))
}

/// The conditions that tell affected hosts from clear ones. None if all hosts gave the same
/// answer.
pub fn telling(scenario: &ScenarioCensus) -> Option<String> {
    match &scenario.apart {
        Telling::Conditions(conditions) => Some(conditions_sentence(conditions)),
        Telling::None { p_value } => {
            let p = p(*p_value);
            Some(format!("no known property of the hosts separates them beyond chance (p = {p})"))
        }
        Telling::TooFewKinds { kinds } => Some(format!(
            "{} of host with an answer {} too few for a test",
            plural(*kinds, "kind"),
            if *kinds == 1 { "is" } else { "are" }
        )),
        Telling::AllAlike => None,
    }
}

fn conditions_sentence(conditions: &Conditions) -> String {
    let condition = |one: &Condition| {
        let same: Vec<String> = one.same.iter().map(cut).collect();
        let same = if same.is_empty() {
            String::new()
        } else {
            format!(" (same hosts as {})", same.join(", "))
        };
        format!("{}{same}", cut(&one.cut))
    };
    let all: Vec<String> = conditions.all.iter().map(condition).collect();
    let worst = conditions.all.iter().map(|one| one.p_value).fold(0.0, f64::max);
    let inside = &conditions.inside;
    format!(
        "{}: {} of {} affected, of all others {} (p = {}{})",
        all.join(" with "),
        share(inside),
        plural(inside.of, "host"),
        share(&conditions.outside),
        p(worst),
        conditions.owners.map_or(String::new(), |owners| {
            format!(", also among {}", plural(owners, "owner"))
        })
    )
}

fn p(value: f64) -> String {
    format!("{value:.3}")
}

/// The name of a factor.
pub fn factor(factor: Factor) -> &'static str {
    match factor {
        Factor::KernelSeries => "kernel",
        Factor::Kernel => "kernel release",
        Factor::Hz => "HZ",
        Factor::Preemption => "preemption",
        Factor::Otp => "OTP",
        Factor::Virtualised => "virtualised",
        Factor::Cgroup => "control groups",
        Factor::Product => "machine",
        Factor::CpuModel => "CPU model",
        Factor::Cpus => "CPUs",
        Factor::Distribution => "distribution",
        Factor::Arch => "architecture",
    }
}

/// One side of a split of the hosts: `kernel 6.1 or later`.
pub fn cut(cut: &Cut) -> String {
    let (name, level) = (factor(cut.factor), plain(&cut.level));
    let is_version = matches!(cut.factor, Factor::KernelSeries | Factor::Kernel | Factor::Otp);
    match cut.side {
        Side::Is => format!("{name} {level}"),
        Side::IsNot => format!("{name} other than {level}"),
        Side::AtLeast if is_version => format!("{name} {level} or later"),
        Side::AtLeast => format!("{name} {level} or more"),
        Side::Below if is_version => format!("{name} before {level}"),
        Side::Below => format!("{name} below {level}"),
    }
}

/// The answers of the hosts of a group, the worst first: `affected: mmap-lock; not-affected:
/// cpu-quota`.
pub fn answers(group: &Group) -> String {
    let order = [
        State::Affected,
        State::Untrustworthy,
        State::Inconclusive,
        State::Skipped,
        State::NotAffected,
    ];
    let parts = order.into_iter().filter_map(|state| {
        let of_state = group.answers.iter().filter(|(_, answer)| **answer == state);
        let names: Vec<String> = of_state.map(|(name, _)| plain(name)).collect();
        (!names.is_empty()).then(|| format!("{} {}", state.word(), names.join(", ")))
    });
    parts.collect::<Vec<String>>().join("; ")
}

/// What the hosts of a group have in common: `kernel 6.1, HZ 250`.
pub fn alike(group: &Group) -> String {
    // The full release would repeat the kernel series.
    let has_series = group.alike.contains_key(&Factor::KernelSeries);
    let told = group.alike.iter().filter(|(name, _)| !has_series || **name != Factor::Kernel);
    let each = told.map(|(name, level)| format!("{} {}", factor(*name), plain(level)));
    each.collect::<Vec<String>>().join(", ")
}

/// Characters that are reserved after the last range.
const ENDING: usize = 5;

/// Host names, folded, in about `most` characters: `db[001-400,402],web3,..`.
pub fn names(hosts: &Hosts, most: usize) -> String {
    let mut text = String::new();
    let mut shown = 0;
    let same = |a: &Run, b: &Run| {
        a.digits > 0 && (&a.before, &a.after, a.digits) == (&b.before, &b.after, b.digits)
    };
    for runs in hosts.names.chunk_by(same) {
        let Some(first) = runs.first() else { continue };
        let comma = if text.is_empty() { "" } else { "," };
        let mut one = format!("{comma}{}", plain(&first.before));
        let digits = usize::from(first.digits);
        if runs.len() == 1 && first.from == first.to && digits > 0 {
            one += &format!("{:0digits$}{}", first.from, plain(&first.after));
        } else if digits > 0 {
            let ranges = runs.iter().map(|run| match run.from == run.to {
                true => format!("{:0digits$}", run.from),
                false => format!("{:0digits$}-{:0digits$}", run.from, run.to),
            });
            // As many ranges as fit.
            let room = most.saturating_sub(text.len() + one.len() + ENDING);
            let mut inside = String::new();
            for (place, range) in ranges.enumerate() {
                if place > 0 && inside.len() + range.len() > room {
                    inside += ",..";
                    break;
                }
                inside += &format!("{}{range}", if place > 0 { "," } else { "" });
            }
            one += &format!("[{inside}]{}", plain(&first.after));
        }
        if !text.is_empty() && text.len() + one.len() > most {
            return format!("{text},..");
        }
        text += &one;
        shown += runs.iter().map(Run::len).sum::<u64>();
    }
    if shown < hosts.count && !text.is_empty() && !text.contains(",..") {
        text + ",.."
    } else {
        text
    }
}

/// The place of a record: `fleet.jsonl:17`.
pub fn place(place: &RecordPlace) -> String {
    let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}", plain(&place.file))
}

/// The hosts that lose most in a scenario, at most `most` of them.
pub fn worst(scenario: &ScenarioCensus, most: usize) -> Option<String> {
    let named = scenario.worst.iter().take(most);
    let each: Vec<String> =
        named.map(|one| format!("{} +{}", plain(&one.host), amount_alone(&one.shift))).collect();
    (!each.is_empty()).then(|| each.join(", "))
}

/// Hosts whose answer differs from that of their kind.
pub fn odd(odd: &Odd, most: usize) -> String {
    let named: Vec<String> = odd.hosts.iter().take(most).map(|one| plain(&one.host)).collect();
    let more = if odd.count > named.len() as u64 { ",.." } else { "" };
    let (verb, whose) = if odd.count == 1 { ("differs", "its") } else { ("differ", "their") };
    format!(
        "{} {verb} from 95% of {whose} kind (one answer in 20 may be wrong; measure again): \
         {}{more}",
        plural(odd.count, "host"),
        named.join(",")
    )
}

/// The records that were set aside: `12 duplicates, 3 damaged`.
pub fn set_aside(all: &[SetAside]) -> String {
    let each = all.iter().map(|one| format!("{} {}", one.count, why(one.why)));
    each.collect::<Vec<String>>().join(", ")
}

/// Records whose file claims a wrong host, at most `most` per reason: `a.jsonl:2 names host5`.
pub fn claims(all: &[SetAside], most: usize) -> Vec<String> {
    let of = |one: &SetAside| {
        let title = match one.why {
            Why::OtherHost => "record names another host than its file",
            Why::TwoFiles => "in two files, the second file counts",
            _ => return None,
        };
        let named: Vec<String> = one.examples.iter().take(most).map(example).collect();
        let more = if one.count > named.len() as u64 { ", .." } else { "" };
        Some(format!("{title}: {}{more}", named.join(", ")))
    };
    all.iter().filter_map(of).collect()
}

/// A record that was set aside, and the host that it claims.
pub fn example(one: &Example) -> String {
    let here = place(&one.place);
    match (one.claims.as_deref().map(plain), &one.other) {
        (None, _) => here,
        (Some(host), None) => format!("{here} names {host}"),
        (Some(host), Some(other)) => format!("{host} in {here} and {}", place(other)),
    }
}

/// Why records do not count, or count with a doubt. A number stands before this phrase.
pub fn why(why: Why) -> &'static str {
    match why {
        Why::OtherHost => "that name another host than their file",
        Why::TwoFiles => "of a host claimed by two files",
        Why::Duplicate => "duplicate",
        Why::Superseded => "superseded by later ones",
        Why::TwoAnswers => "second answers of one study",
        Why::Contradictory => "in conflict with their own counts",
        Why::WrongClock => "with a wrong clock",
        Why::Truncated => "truncated",
        Why::Damaged => "damaged or no record",
        Why::TooLarge => "too large",
        Why::Newer => "of a newer version",
        Why::UnknownScenario => "of an unknown scenario",
        Why::Unreadable => "unreadable",
        Why::TooMany => "beyond the limit of a census",
        Why::TooManyEntries => "archive with too many entries, read in part",
    }
}

/// The changes since an earlier census, one per line.
pub fn since(since: &Since, most: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        since.scenarios.iter().filter_map(|one| of_scenario(one, most)).collect();
    let counted = [(&since.new, "new"), (&since.gone, "without a record now")];
    let hosts = counted.into_iter().filter(|(hosts, _)| hosts.count > 0).map(|(hosts, what)| {
        format!("{} {what}: {}", plural(hosts.count, "host"), names(hosts, most))
    });
    lines.extend(hosts);
    if since.unknown > 0 {
        let unknown = plural(since.unknown, "host");
        lines.push(format!("{unknown} not named in the earlier census, so not compared"));
    }
    if lines.is_empty() {
        lines.push("no host changed its answer".to_owned());
    }
    lines
}

fn of_scenario(one: &ScenarioSince, most: usize) -> Option<String> {
    let parts = [
        (&one.became_affected, "became affected"),
        (&one.became_clear, "became clear"),
        (&one.other, "changed in another way"),
    ];
    let parts = parts.into_iter().filter(|(hosts, _)| hosts.count > 0);
    let parts =
        parts.map(|(hosts, what)| format!("{} {what} ({})", hosts.count, names(hosts, most)));
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("{}: {}", plain(&one.scenario), parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(before: &str, digits: u8, from: u64, to: u64) -> Run {
        Run { before: before.to_owned(), after: String::new(), digits, from, to }
    }

    #[test]
    fn names_are_folded_as_people_write_them() {
        let runs = vec![
            run("db", 3, 1, 400),
            run("db", 3, 402, 402),
            run("gate", 0, 0, 0),
            run("web", 1, 3, 3),
        ];
        let hosts = Hosts { count: 403, names: runs, left_out: 0 };
        assert_eq!(names(&hosts, 80), "db[001-400,402],gate,web3");
        assert_eq!(names(&hosts, 12), "db[001-400,..],..");
        let more = Hosts { count: 500, left_out: 97, ..hosts };
        assert_eq!(names(&more, 80), "db[001-400,402],gate,web3,..");
        assert_eq!(names(&Hosts::default(), 80), "");
    }

    #[test]
    fn an_interval_is_told_as_finely_as_it_is_narrow() {
        let share = Share {
            affected: 97,
            of: 100,
            undecided: 4,
            least: 0.933,
            most: 0.971,
            kinds: 9,
            owners: None,
            alike: 0.5,
            effective: 9.0,
            low: None,
            high: None,
            confidence: 0.95,
        };
        let of = |low: f64, high: f64| {
            super::share(&Share { low: Some(low), high: Some(high), ..share.clone() })
        };
        assert_eq!(this_fleet(&share), "93% to 97%");
        assert_eq!(this_fleet(&Share { least: 0.968, ..share.clone() }), "96.8% to 97.1%");
        assert_eq!(of(0.5, 0.99), "97% [50%, 99%]");
        assert_eq!(of(0.9688, 0.9712), "97.0% [96.9%, 97.1%]");
        assert_eq!(of(0.97, 0.97), "97% [97%, 97%]");
    }

    #[test]
    fn a_side_is_told_by_what_its_factor_is() {
        let of = |factor, side, level: &str| cut(&Cut { factor, side, level: level.to_owned() });
        assert_eq!(of(Factor::KernelSeries, Side::AtLeast, "6.1"), "kernel 6.1 or later");
        assert_eq!(of(Factor::Cpus, Side::AtLeast, "8"), "CPUs 8 or more");
        assert_eq!(of(Factor::Product, Side::IsNot, "m5"), "machine other than m5");
        assert_eq!(of(Factor::Otp, Side::Below, "26"), "OTP before 26");
    }
}
