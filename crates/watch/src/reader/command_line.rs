//! What the command line of a node says.
//!
//! It may hold the node's cookie, so nothing of it is kept except what is asked for here.

use model::live::Configured;
use os::terminal;
use serde::{Deserialize, Serialize};

/// The longest name of a node that is kept, in bytes.
const MOST_NAME: usize = 255;

/// The percentage of `+SP` that changes nothing.
const ALL_PERCENT: u32 = 100;

/// What follows these flags in longer ones, which are other flags: `-SP`, `-SDcpu`, `-sbwtdcpu`.
const LONGER: [&str; 4] = ["P", "D", "dcpu", "dio"];

/// Flags whose values are names and cookies, so they may be any words.
const NAMING: [&str; 3] = ["-name", "-sname", "-setcookie"];

/// What it says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The node's name, as `-name` or `-sname` gave it.
    pub name: Option<String>,
    /// The number of online schedulers that `+S` sets, multiplied by the percentage of `+SP`. None
    /// if the VM works out the number itself, or a number to multiply.
    pub online: Option<u32>,
    /// Whether `+S` gives only a maximum: `+S 4` sets fewer online if the VM finds fewer CPUs, or a
    /// quota.
    pub online_is_maximum: bool,
    /// Whether `+SP` sets the percentage of schedulers that are online.
    pub online_by_percent: bool,
    /// Where its flags are set.
    pub configured: Configured,
    /// The flags that it was given.
    pub given: GivenFlags,
}

/// Flags of a VM that are not advised if they are already given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenFlags {
    /// `+sbwt none`: no normal scheduler spins.
    pub no_busy_wait: bool,
    /// `+sbwtdcpu none`: no dirty CPU scheduler spins.
    pub no_busy_wait_dirty_cpu: bool,
    /// `+sbwtdio none`: no dirty IO scheduler spins.
    pub no_busy_wait_dirty_io: bool,
    /// `+sfwi`: schedulers check whether another should wake.
    pub forced_wakeup: bool,
}

/// Reads the words of a command line, which are separated by zero bytes. The flags of the emulator
/// come before the first `--`. What follows `-extra` belongs to the program: `iex -S mix`.
pub fn facts(bytes: &[u8]) -> CommandLine {
    let words: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    let of_vm = before(&words, &["-extra"]);
    let of_emulator = before(of_vm, &["--"]);
    let flag = |wanted| emulator_value(of_emulator, wanted);
    let name = value_of(of_vm, &["-name", "-sname"]).filter(|name| name.len() <= MOST_NAME);
    let number = flag("-S");
    let percent = flag("-SP").map_or(Some(ALL_PERCENT), percent_online);
    let online_is_maximum = number.is_some_and(|number| !number.contains(':'));
    let online_by_percent = percent.is_some_and(|percent| percent != ALL_PERCENT);
    let product = number.and_then(online).zip(percent).and_then(multiplied);
    CommandLine {
        name: name.map(|name| terminal::line(&name)),
        // Of `+S 8` and a percentage, the VM multiplies the number that it works out of `+S 8`.
        online: product.filter(|_| !(online_is_maximum && online_by_percent)),
        online_is_maximum,
        online_by_percent,
        configured: configured(of_vm),
        given: GivenFlags {
            no_busy_wait: flag("-sbwt") == Some("none"),
            no_busy_wait_dirty_cpu: flag("-sbwtdcpu") == Some("none"),
            no_busy_wait_dirty_io: flag("-sbwtdio") == Some("none"),
            forced_wakeup: flag("-sfwi").is_some_and(|every| every != "0"),
        },
    }
}

fn is_one_of(word: &[u8], all: &[&str]) -> bool {
    all.iter().any(|one| word == one.as_bytes())
}

/// The words before the first one of these.
fn before<'a, 'b>(words: &'a [&'b [u8]], ends: &[&str]) -> &'a [&'b [u8]] {
    words.split(|word| is_one_of(word, ends)).next().unwrap_or_default()
}

/// The word after the last one of these flags.
fn value_of(words: &[&[u8]], flags: &[&str]) -> Option<String> {
    let at = words.iter().rposition(|word| is_one_of(word, flags))?;
    let value = std::str::from_utf8(words.get(at + 1)?).ok()?;
    Some(value.to_owned())
}

/// The value of the last use of a flag of the emulator: the next word, or the rest of the same word
/// (`-S4:2`).
fn emulator_value<'a>(words: &[&'a [u8]], flag: &str) -> Option<&'a str> {
    let mut words_from_last = words.iter().enumerate().rev();
    let (at, rest) = words_from_last.find_map(|(at, word)| Some((at, rest_after(word, flag)?)))?;
    match rest {
        "" => std::str::from_utf8(words.get(at + 1)?).ok(),
        value => Some(value),
    }
}

/// What follows this flag in a word; None if the word is not this flag.
fn rest_after<'a>(word: &'a [u8], flag: &str) -> Option<&'a str> {
    let rest = std::str::from_utf8(word.strip_prefix(flag.as_bytes())?).ok()?;
    (!LONGER.iter().any(|longer| rest.starts_with(longer))).then_some(rest)
}

/// The second number of `4:2`, or the only one of `4`. None if the VM works out the number
/// itself.
fn online(value: &str) -> Option<u32> {
    let last = value.rsplit(':').next()?;
    last.parse().ok().filter(|count| *count > 0)
}

/// The second percentage of `50:25`, or the only one of `50`. If it is the only one, the VM takes
/// no more than 100 of it.
fn percent_online(value: &str) -> Option<u32> {
    match value.split_once(':') {
        Some((_, percent)) => percent.parse().ok(),
        None => value.parse::<u32>().ok().map(|percent| percent.min(ALL_PERCENT)),
    }
}

/// A percentage of a number of schedulers, rounded down, but at least one.
fn multiplied((count, percent): (u32, u32)) -> Option<u32> {
    let online = u64::from(count) * u64::from(percent) / u64::from(ALL_PERCENT);
    u32::try_from(online.max(1)).ok()
}

/// Where the flags of such a node are set.
fn configured(words: &[&[u8]]) -> Configured {
    let words = without_names(words);
    let is = |wanted: &str| words.contains(&wanted.as_bytes());
    let releases = b"/releases/";
    if is("-rabbit") || is("rabbit") || words.iter().any(|word| is_path_of_rabbitmq(word)) {
        Configured::RabbitMq
    } else if is("ejabberd") {
        Configured::Ejabberd
    } else if words.iter().any(|word| word.windows(releases.len()).any(|part| part == releases)) {
        Configured::VmArgs
    } else {
        Configured::ErlFlags
    }
}

/// The words without those from each naming flag up to the next flag.
fn without_names<'a>(words: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let mut is_named = false;
    let mut all = Vec::new();
    for word in words {
        if word.starts_with(b"-") {
            is_named = is_one_of(word, &NAMING);
        }
        if !is_named {
            all.push(*word);
        }
    }
    all
}

/// Whether a path leads to files of RabbitMQ. Files of other programs may be in a folder such as
/// `rabbitmq_client` or `rabbitmq-consumer`.
fn is_path_of_rabbitmq(word: &[u8]) -> bool {
    let is_its = |part: &[u8]| {
        part == b"rabbitmq"
            || part.starts_with(b"rabbitmq-server")
            || part.starts_with(b"rabbitmq_server")
    };
    word.contains(&b'/') && word.split(|byte| *byte == b'/').any(is_its)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(line: &str) -> CommandLine {
        facts(line.replace(' ', "\0").as_bytes())
    }

    #[test]
    fn name_schedulers_and_place_are_read_and_the_cookie_is_not() {
        let read = of("beam.smp -S 8:4 -sbwt none -- -root /usr -- -sname web -setcookie geheim");
        assert_eq!((read.name.as_deref(), read.online), (Some("web"), Some(4)));
        assert_eq!(read.configured, Configured::ErlFlags);
        assert!(!format!("{read:?}").contains("geheim"));
        assert!(read.given.no_busy_wait && !read.given.forced_wakeup);
        assert!(!read.given.no_busy_wait_dirty_cpu && !read.given.no_busy_wait_dirty_io);
        let dirty = of("beam.smp -sbwtdcpu none -sbwtdionone --").given;
        assert!(dirty.no_busy_wait_dirty_cpu && dirty.no_busy_wait_dirty_io);
        assert!(!dirty.no_busy_wait);
        assert!(of("beam.smp -sfwi 10 --").given.forced_wakeup);
        assert_eq!(of("beam.smp -S 2 --").online, Some(2));
        assert_eq!(of("beam.smp -S 0 --").online, None);
        assert_eq!(of("beam.smp -- -s rabbit boot").configured, Configured::RabbitMq);
        assert_eq!(of("beam.smp -- -s ejabberd").configured, Configured::Ejabberd);
        // Words of the program are no flags.
        let mix = of("beam.smp -S 8:4 -- -root /usr -sname a -- -extra -S 2 -sname b -sfwi 10");
        assert_eq!((mix.name.as_deref(), mix.online), (Some("a"), Some(4)));
        assert!(!mix.given.forced_wakeup);
        assert_eq!(of("beam.smp -- -root /usr -- -extra -S mix").online, None);
        // The value may be in the same word. Flags with longer names are others.
        let in_one_word =
            of("beam.smp -S8:4 -SDcpu 2:1 -SDPcpu 50:25 -sbwtnone -sbwtdcpu long -sfwi10 --");
        assert_eq!(in_one_word.online, Some(4));
        assert!(in_one_word.given.no_busy_wait && !in_one_word.given.no_busy_wait_dirty_cpu);
        assert!(in_one_word.given.forced_wakeup);
        assert_eq!(of("beam.smp -S8 -S4 --").online, Some(4));
        assert_eq!(of("beam.smp -SDcpu 2:1 -SDPcpu 50:25 --").online, None);
        let release = "beam.smp -- -boot /app/releases/1/start";
        assert_eq!(of(release).configured, Configured::VmArgs);
    }

    #[test]
    fn only_words_and_paths_of_rabbitmq_say_that_a_node_is_one() {
        let configured = |rest: &str| of(&format!("beam.smp -W w -- {rest}")).configured;
        for own in [
            "-pa /usr/lib/rabbitmq/lib/rabbitmq_server-3.10.8/ebin -noshell -s rabbit boot \
             -sname rabbit@host",
            "-pa /opt/rabbitmq/plugins -sname a",
            "-pa /srv/rabbitmq-server-4.0/ebin",
            "-pa ./rabbitmq_server-4.0/ebin",
            "-home /var/lib/rabbitmq -- -sname a",
            "-sname a -rabbit tcp_listeners []",
        ] {
            assert_eq!(configured(own), Configured::RabbitMq, "{own}");
        }
        let release = "-boot /app/releases/1/start";
        for other in [
            "-sname rabbitmq-consumer",
            "-sname rabbit",
            "-name to@rabbitmq.example.org",
            "-setcookie rabbit@host /rabbitmq/",
            "-pa /app/lib/rabbitmq_client-1.0/ebin",
            "-config /app/rabbitmq-consumer/sys",
            "-user rabbitmq",
        ] {
            assert_eq!(configured(other), Configured::ErlFlags, "{other}");
            let of_release = configured(&format!("{other} {release}"));
            assert_eq!(of_release, Configured::VmArgs, "{other}");
        }
        let cookie = configured("-setcookie /releases/ -sname ejabberd");
        assert_eq!(cookie, Configured::ErlFlags);
    }

    #[test]
    fn a_percentage_changes_the_number_of_online_schedulers() {
        let read = |flags: &str| {
            let read = of(&format!("beam.smp {flags} --"));
            (read.online, read.online_by_percent)
        };
        assert_eq!(read("-S 8:4 -SP 50:25"), (Some(1), true));
        assert_eq!(read("-SP50:75 -S8:4"), (Some(3), true));
        assert_eq!(read("-S 8:4 -SP 50"), (Some(2), true));
        assert_eq!(read("-S 8:4 -SP :10"), (Some(1), true));
        // Neither changes the number.
        assert_eq!([read("-S 8:4 -SP 200"), read("-S 8:4")], [(Some(4), false); 2]);
        // The VM works out a number to multiply.
        for flags in ["-SP 50:50", "-S 0 -SP 50:50", "-S 8 -SP 50:50"] {
            assert_eq!(read(flags), (None, true), "{flags}");
        }
    }

    #[test]
    fn one_number_is_a_maximum() {
        let is_maximum = |flags: &str| of(&format!("beam.smp {flags} --")).online_is_maximum;
        assert!(is_maximum("-S 8") && is_maximum("-S8 -SP 50:50"));
        assert!(!is_maximum("-S 8:8") && !is_maximum("-S :4") && !is_maximum("-SP 50"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            facts(&bytes);
        }
    }
}
