//! The eras of the controller, and the rules in which they differ.

use crate::error::Error;
use serde::Serialize;

/// A range of kernel versions with the same rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Era {
    /// 3.16 to 4.17: slices never expire, because of a bug (51f2176d74ac).
    A,
    /// 4.18 to 5.3, and 4.14.95 and later: slices expire (512ac999d275).
    B,
    /// 5.4, and 4.14.154 and 4.19.84: expiry removed (de53fd7aedb1).
    C,
    /// 5.7: the race between distribution and assignment is closed (26a8b12747c9).
    D,
    /// 5.8: a CPU asks the pool once more before it is throttled (e98fa02c4f2e).
    E,
    /// 5.14: burst.
    F,
    /// 6.18: a throttled task leaves at its return to user mode.
    G,
}

/// The rules of one era. Each rule is a separate switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// Runtime that a CPU holds expires with the period of the pool.
    pub slices_expire: bool,
    /// The CPU that was throttled last is served first, so that CPUs throttled earlier may starve
    /// (3.17, c06f04c70489, to 4.18; a FIFO queue from 4.19 on, baa9be4ffb55).
    pub newest_first: bool,
    /// Each return of runtime postpones the pending slack timer (before 5.3, 66567fcbaeca).
    pub slack_pushed_back: bool,
    /// A throttled CPU does not ask the pool for more runtime.
    pub throttled_asks_nothing: bool,
    /// The pool is distributed from a snapshot and charged afterwards. Others can use it
    /// meanwhile.
    pub distribution_race: bool,
    /// A CPU asks the pool once more before it is throttled.
    pub last_chance: bool,
    /// The pool keeps unused runtime up to the burst, and is refilled before the timer stops.
    pub burst: bool,
    /// A throttled task continues to run in the kernel until it returns to user mode.
    pub throttle_at_user_return: bool,
}

/// First version of each era, latest first.
const MAINLINE: &[((u32, u32), Era)] = &[
    ((6, 18), Era::G),
    ((5, 14), Era::F),
    ((5, 8), Era::E),
    ((5, 7), Era::D),
    ((5, 4), Era::C),
    ((4, 18), Era::B),
    ((3, 16), Era::A),
];

impl Era {
    /// All eras, in order.
    pub const ALL: [Era; 7] = [Era::A, Era::B, Era::C, Era::D, Era::E, Era::F, Era::G];

    /// The era of a kernel version as printed by `uname -r`: `4.18`, `6.18.44-generic`.
    ///
    /// Known back-ports of the removal of expiry are recognised: in the stable series 4.14, 4.19
    /// and 5.3, in RHEL 8, and in Ubuntu's generic kernels. Other back-ports cannot be recognised
    /// by the version.
    ///
    /// # Errors
    /// If the text is not a version, or a version before 3.16.
    pub fn for_kernel(text: &str) -> Result<Self, Error> {
        let (major, minor, patch) = version(text)?;
        match (major, minor, patch) {
            (4, 14, 95..=153) => return Ok(Era::B),
            (4, 14, 154..) | (4, 19, 84..) | (5, 3, 9..) => return Ok(Era::C),
            _ if distribution_fixed(text) => return Ok(Era::C),
            _ => {}
        }
        MAINLINE.iter().find(|(first, _)| (major, minor) >= *first).map(|(_, era)| *era).ok_or_else(
            || Error::Kernel { text: text.to_owned(), why: "its rules begin with 3.16" },
        )
    }

    /// The rules of this era.
    pub fn rules(self) -> Rules {
        Rules {
            slices_expire: self == Era::B,
            newest_first: self == Era::A,
            slack_pushed_back: self <= Era::B,
            throttled_asks_nothing: self >= Era::C,
            distribution_race: self <= Era::C,
            last_chance: self >= Era::E,
            burst: self >= Era::F,
            throttle_at_user_return: self >= Era::G,
        }
    }

    /// The versions that it covers, in words.
    pub fn versions(self) -> &'static str {
        match self {
            Era::A => "3.16 to 4.17",
            Era::B => "4.18 to 5.3",
            Era::C => "5.4 to 5.6",
            Era::D => "5.7",
            Era::E => "5.8 to 5.13",
            Era::F => "5.14 to 6.17",
            Era::G => "6.18 and later",
        }
    }
}

impl Rules {
    /// The rules of a kernel version. They are more precise than those of its era: 5.3 already
    /// has the fixed slack timer, and the order of throttled CPUs changed within eras.
    ///
    /// # Errors
    /// The same as for [`Era::for_kernel`].
    pub fn for_kernel(text: &str) -> Result<Self, Error> {
        let mut rules = Era::for_kernel(text)?.rules();
        let (major, minor, _) = version(text)?;
        rules.slack_pushed_back &= (major, minor) < (5, 3);
        rules.newest_first = ((3, 17)..(4, 19)).contains(&(major, minor));
        Ok(rules)
    }
}

/// Distribution kernels without expiry whose version does not show it: a mark in the release, the
/// kernel version, and the first build numbers with the change.
const DISTRIBUTIONS: &[(&str, &str, &[u32])] = &[
    (".el8", "4.18.0-", &[147, 2, 1]),
    ("-generic", "4.15.0-", &[67]),
    ("-generic", "5.3.0-", &[24]),
    ("-lowlatency", "4.15.0-", &[67]),
    ("-lowlatency", "5.3.0-", &[24]),
];

/// Whether a distribution's release has back-ported the removal of expiry.
fn distribution_fixed(text: &str) -> bool {
    DISTRIBUTIONS.iter().any(|(sign, version, first)| {
        let Some(rest) = text.trim().strip_prefix(version) else { return false };
        let Some(end) = text.find(sign).and_then(|at| at.checked_sub(version.len())) else {
            return false;
        };
        let numbers = rest.get(..end).unwrap_or_default().split('.').map(str::parse);
        numbers.collect::<Result<Vec<u32>, _>>().is_ok_and(|numbers| numbers.as_slice() >= *first)
    })
}

/// Major, minor and patch number of a version. The rest of the release is ignored.
fn version(text: &str) -> Result<(u32, u32, u32), Error> {
    let bad = || Error::Kernel { text: text.to_owned(), why: "write it as 4.18 or 6.18.44" };
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let mut parts = text[..end].split('.');
    let mut next = || parts.next().and_then(|part| part.parse::<u32>().ok());
    let major = next().ok_or_else(bad)?;
    let minor = next().ok_or_else(bad)?;
    Ok((major, minor, next().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_fall_in_their_eras() {
        for (text, era) in [
            ("3.16", Era::A),
            ("4.14.94", Era::A),
            ("4.14.95", Era::B),
            ("4.14.153", Era::B),
            ("4.14.154-rt70", Era::C),
            ("4.17.19", Era::A),
            ("4.18", Era::B),
            ("4.18.0-80.el8.x86_64", Era::B),
            ("4.19.83", Era::B),
            ("4.19.84", Era::C),
            ("5.3.8", Era::B),
            ("5.3.18", Era::C),
            ("4.18.0-147.el8.x86_64", Era::B),
            ("4.18.0-147.2.1.el8_1.x86_64", Era::C),
            ("4.18.0-193.el8.x86_64", Era::C),
            ("4.15.0-66-generic", Era::A),
            ("4.15.0-67-generic", Era::C),
            ("4.15.0-1054-aws", Era::A),
            ("5.3.0-23-generic", Era::B),
            ("5.3.0-24-lowlatency", Era::C),
            ("5.4", Era::C),
            ("5.6.19", Era::C),
            ("5.7.1", Era::D),
            ("5.10.0-28-amd64", Era::E),
            ("5.14-rc1", Era::F),
            ("6.12", Era::F),
            ("6.18.44-fc-v669", Era::G),
            ("7.2", Era::G),
        ] {
            assert_eq!(Era::for_kernel(text), Ok(era), "{text}");
        }
    }

    #[test]
    fn what_is_no_known_version_is_refused() {
        for text in ["", "4", "linux", "4.x", "3.15.9", "2.6.32", ".18", "99999999999.1"] {
            assert!(Era::for_kernel(text).is_err(), "{text}");
        }
    }

    #[test]
    fn kernel_5_3_expires_slices_but_no_longer_pushes_the_timer_back() {
        let rules = Rules::for_kernel("5.3").unwrap();
        assert!(rules.slices_expire && !rules.slack_pushed_back);
        assert!(Rules::for_kernel("5.2").unwrap().slack_pushed_back);
    }

    #[test]
    fn throttled_cpus_queue_from_4_19_on() {
        for (text, newest_first) in
            [("3.16", false), ("3.17", true), ("4.14.95", true), ("4.18", true), ("4.19", false)]
        {
            assert_eq!(Rules::for_kernel(text).unwrap().newest_first, newest_first, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in ".*") {
            let _ = Era::for_kernel(&text);
        }
    }
}
