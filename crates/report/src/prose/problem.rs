//! Problems of a run: missing needs, unusable things, and errors.

use super::fact::phrase;
use super::generator::generator;
use super::group::group;
use model::problem::{ArmsProblem, RefusedFlags, UnusableCpu};
use model::reported::Reported;
use model::{Meta, Need, Problem};
use os::terminal::line as plain;

/// A problem, without a full stop.
pub fn problem(problem: &Problem, meta: Option<&Meta>) -> String {
    match problem {
        Problem::Scenario(own) => phrase(own, meta),
        Problem::Missing(lacking) => need(lacking, meta),
        Problem::Group(why) => group(why),
        Problem::Generator(why) => generator(why),
        Problem::Reported(why) => reported(why),
        Problem::Value { message } => plain(message),
        Problem::Cpu { option, cpu, why } => {
            format!("{} {cpu}: {}", plain(option), unusable_cpu(why))
        }
        Problem::TooManyCpus { asked, allowed } => {
            format!("--on-cpus {asked}: this process may use {allowed} CPUs")
        }
        Problem::Flags(refused) => refused_flags(refused),
        Problem::Arms(arms) => of_arms(arms, meta),
        Problem::StraceLate => {
            "--strace: strace did not attach to the node; leave --strace out".to_owned()
        }
        Problem::CpusUnread => "the CPUs of this machine could not be read".to_owned(),
        Problem::WrongReport { role } => {
            format!("{}: it sent the report of another kind of generator", plain(role))
        }
        Problem::Unreadable { series, error } => {
            format!("latencies ({}): {}", plain(series), plain(error))
        }
        Problem::InFolder { folder, why } => {
            format!("{} (a file without a name in {})", self::problem(why, meta), plain(folder))
        }
        Problem::Said(text) => plain(text),
    }
}

/// A problem with the arms of a study.
fn of_arms(arms: &ArmsProblem, meta: Option<&Meta>) -> String {
    match arms {
        ArmsProblem::Several { arms } => format!(
            "these settings make several arms ({}); in a study, make each a level of a factor",
            plain(&arms.join(", "))
        ),
        ArmsProblem::NotHad { arm } => format!("{} cannot be run here", plain(arm)),
        ArmsProblem::SameName { arm } => format!(
            "two arms would be called {}: name each OTP release and each set of flags once",
            plain(arm)
        ),
        ArmsProblem::SameCombination { arm } => {
            format!("two combinations are called `{}`; give their levels other names", plain(arm))
        }
        ArmsProblem::OneCombination => "there is only one combination, and nothing to compare it \
                                        with; give a factor another level"
            .to_owned(),
        ArmsProblem::OnlyControl { arm, why } => format!(
            "no combination but the control can be run here; {}: {}",
            plain(arm),
            problem(why, meta)
        ),
        ArmsProblem::ControlNotHad { arm, why } => {
            format!("the control {} cannot be run: {}", plain(arm), problem(why, meta))
        }
        ArmsProblem::NoControl => "no control was made".to_owned(),
        ArmsProblem::NotOneValue { option } => {
            format!("{}: an arm needs exactly one value", plain(option))
        }
    }
}

/// The missing need and how to grant it, on one line.
pub fn need(need: &Need, meta: Option<&Meta>) -> String {
    match need {
        Need::Said(text) => plain(text),
        need => format!("{}; {}", lacking(need, meta), grant(need, meta)),
    }
}

/// The missing need, without a full stop.
pub fn lacking(need: &Need, meta: Option<&Meta>) -> String {
    match need {
        Need::Cpus { least, allowed } => {
            let who = meta.map_or("the scenario", |meta| meta.id);
            format!("{who} needs {least} CPUs; this process may use {allowed}")
        }
        Need::Quota(_) => "no CPU quota can be set here".to_owned(),
        Need::MemoryLimit(_) => "no memory limit can be set here".to_owned(),
        Need::Priority { nice } => {
            format!("--nice {nice}: this process may not raise a priority that far")
        }
        Need::Privilege(why) | Need::Limit(why) | Need::Otp(why) => problem(why, meta),
        Need::Fetch { problem: why, .. } => problem(why, meta),
        Need::Erl => "no erl on the PATH".to_owned(),
        Need::CacheFolder => "no place for the compiled Erlang application: neither \
             XDG_CACHE_HOME nor HOME is set"
            .to_owned(),
        Need::Flags(refused) => refused_flags(refused),
        Need::NativeFunctions { otp, error } => {
            format!("no native functions for OTP {otp}: {}", plain(error))
        }
        Need::Strace { error, .. } => format!("--strace: {}", plain(error)),
        Need::Scenario { what, .. } => phrase(what, meta),
        Need::Said(text) => plain(text),
    }
}

/// How to grant the need, without a full stop.
pub fn grant(need: &Need, meta: Option<&Meta>) -> String {
    let text = match need {
        Need::Cpus { .. } => {
            "widen its affinity mask or cpuset (taskset -pc, docker --cpuset-cpus), or use a \
             machine with more CPUs"
        }
        Need::Quota(why) | Need::MemoryLimit(why) => return group(why),
        Need::Priority { .. } => "run as root, or raise the limit with `ulimit -e`",
        Need::Privilege(_) => "run as root",
        Need::Limit(_) => {
            "raise the limit that was reached (ulimit -u, pids.max, memory), or use a smaller load"
        }
        Need::Erl => {
            "fetch one with --otp debian:trixie, install OTP 25 or later (apt-get install \
             erlang-base erlang-crypto), or name one with --otp PATH"
        }
        Need::Otp(_) => "fetch another one: --otp debian:trixie",
        Need::Fetch { full: true, .. } => {
            "free some space, or set XDG_CACHE_HOME to another folder"
        }
        Need::Fetch { full: false, .. } => {
            "name an OTP that is on this machine: --otp /usr/lib/erlang"
        }
        Need::CacheFolder => "set XDG_CACHE_HOME to a folder",
        Need::Flags(_) => {
            "name flags that it accepts (--sbwt, --swt ..), or another OTP with --otp"
        }
        Need::NativeFunctions { .. } => "use --mode bignum, which needs no compiler",
        Need::Strace { unsafe_program: true, .. } => {
            "as root, tailback runs no program that other users could have put there; put another \
             folder first in PATH"
        }
        Need::Strace { unsafe_program: false, .. } => {
            "install strace (Debian: strace), or leave --strace out"
        }
        Need::Scenario { grant, .. } => return phrase(grant, meta),
        Need::Said(text) => return plain(text),
    };
    text.to_owned()
}

/// Why a CPU cannot be used, without a full stop.
pub fn unusable_cpu(why: &UnusableCpu) -> String {
    match why {
        UnusableCpu::Absent { online } => {
            format!("there is no such CPU; this machine has {}", cpus(online))
        }
        UnusableCpu::Forbidden { allowed } => format!(
            "the affinity mask or cpuset of this process forbids it; it may use {}",
            cpus(allowed)
        ),
        UnusableCpu::Refused { error } => plain(error),
    }
}

/// CPUs in the kernel's list format: `CPUs 0-3,8`.
fn cpus(cpus: &[u32]) -> String {
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{noun} {}", os::cpulist::format(cpus))
}

/// Flags that an OTP refuses: `OTP 25 refuses +sfwi x: bad number`.
pub(super) fn refused_flags(refused: &RefusedFlags) -> String {
    let RefusedFlags { otp, flags, why } = refused;
    format!("OTP {otp} refuses {}: {}", plain(flags), plain(why))
}

fn reported(reported: &Reported) -> String {
    match &reported.about {
        Some(about) => format!("{}: {}", plain(about), plain(&reported.message)),
        None => plain(&reported.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::META;
    use model::GroupProblem;
    use model::reported::{Part, Trouble};

    #[test]
    fn what_was_reported_is_cleaned_and_named() {
        let kernel = Problem::of_kernel("live page", &std::io::Error::other("no\u{1b}[2J room"));
        assert_eq!(problem(&kernel, None), "live page: no [2J room");
        let node = Problem::reported(Part::Node, Trouble::Refused, "file write: full");
        let why = Box::new(node);
        let named = Problem::InFolder { folder: "/x".to_owned(), why };
        assert_eq!(problem(&named, None), "file write: full (a file without a name in /x)");
    }

    #[test]
    fn a_wrong_cpu_is_answered_with_the_right_ones() {
        let of = |why| {
            let option = "--cpu-load".to_owned();
            problem(&Problem::Cpu { option, cpu: 7, why }, None)
        };
        assert_eq!(
            of(UnusableCpu::Absent { online: vec![0, 1, 2, 3] }),
            "--cpu-load 7: there is no such CPU; this machine has CPUs 0-3"
        );
        let forbidden = of(UnusableCpu::Forbidden { allowed: vec![5] });
        assert!(forbidden.ends_with("it may use CPU 5"), "{forbidden}");
    }

    #[test]
    fn a_need_is_told_with_what_would_grant_it() {
        let cpus = Need::Cpus { least: 2, allowed: 1 };
        assert!(lacking(&cpus, Some(&META)).starts_with("some-stall needs 2 CPUs; this process"));
        assert!(grant(&cpus, None).contains("taskset -pc"));
        let quota = Need::Quota(GroupProblem::Denied { path: "/sys/fs\u{1b}[2J".to_owned() });
        assert_eq!(
            need(&quota, None),
            "no CPU quota can be set here; /sys/fs [2J: permission denied; run as root, or have \
             control groups delegated: systemd-run --user --scope -p Delegate=yes tailback ..."
        );
        let limit = Need::Limit(Problem::CpusUnread);
        assert!(grant(&limit, None).contains("ulimit -u"));
    }

    #[test]
    fn words_of_an_older_record_stand_once() {
        let said = Need::Said("no erl on the PATH; install one".to_owned());
        assert_eq!(need(&said, None), "no erl on the PATH; install one");
    }
}
