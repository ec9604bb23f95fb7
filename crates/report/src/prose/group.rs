//! Problems of a control group.

use model::group::{BadQuota, Controller};
use model::prose::figures::figure;
use model::{GroupProblem, Unit};
use os::terminal::line as plain;

/// The problem of a control group and its fix, without a full stop.
pub fn group(problem: &GroupProblem) -> String {
    match problem {
        GroupProblem::NoController { controller, path } => no_controller(*controller, path),
        GroupProblem::MemoryOfV1 => {
            "this machine has the memory controller of cgroup v1, which has no memory.high"
                .to_owned()
        }
        GroupProblem::NotVisible { controller, group } => format!(
            "control group {} of the {} controller cannot be seen here; mount its hierarchy, or \
             run outside of the container",
            plain(group),
            controller.name()
        ),
        GroupProblem::ReadOnly { path } => format!(
            "{}: mounted read-only; run outside of the container, or give it a writable \
             /sys/fs/cgroup (--privileged)",
            plain(path)
        ),
        GroupProblem::Denied { path } => format!(
            "{}: permission denied; run as root, or have control groups delegated: systemd-run \
             --user --scope -p Delegate=yes tailback ...",
            plain(path)
        ),
        GroupProblem::Occupied { controller, path, processes } => format!(
            "{}: holds {processes} processes itself, so it cannot give its children the {} \
             controller; move them into a child group of their own, or run outside of the \
             container",
            plain(path),
            controller.name()
        ),
        GroupProblem::Threaded { path } => format!(
            "{}: a threaded group, whose children accept no processes; start tailback from another \
             group",
            plain(path)
        ),
        GroupProblem::NoBandwidth { path } => format!(
            "{}: missing; the kernel has no CPU quota for groups (CONFIG_CFS_BANDWIDTH)",
            plain(path)
        ),
        GroupProblem::Busy { path, left } => format!(
            "{}: still busy after its processes were killed (left: {}); the next start of tailback \
             removes this group",
            plain(path),
            pids(left)
        ),
        GroupProblem::OwnProcess { path, pid } => format!(
            "{}: this process (pid {pid}) is itself in the group, so the group's processes are not \
             killed",
            plain(path)
        ),
        GroupProblem::Journal { error } => plain(error),
        GroupProblem::Io { path, error } => format!("{}: {}", plain(path), plain(error)),
        GroupProblem::Value(value) => bad_value(value),
    }
}

fn no_controller(controller: Controller, path: &str) -> String {
    let config = match controller {
        Controller::Cpu => "CONFIG_CGROUP_SCHED",
        Controller::Memory => "CONFIG_MEMCG",
    };
    let name = controller.name();
    format!(
        "{}: no {name} controller; the kernel has none ({config}), it is disabled \
         (cgroup_disable={name}), or a group above does not pass it on",
        plain(path)
    )
}

/// A value that a control group does not accept.
fn bad_value(value: &BadQuota) -> String {
    match value {
        BadQuota::QuotaTooSmall { quota_us } => {
            format!("a quota of {quota_us} us is below the kernel's minimum of 1000 us")
        }
        BadQuota::PeriodOutOfRange { period_us } => format!(
            "a period of {period_us} us is outside of the kernel's range, 1000 us to 1000000 us"
        ),
        BadQuota::QuotaAboveParent {
            quota_us,
            period_us,
            above,
            above_quota_us,
            above_period_us,
            refused,
        } => {
            let what = match refused {
                true => "and cgroup v1 refuses that (EINVAL)",
                false => "and cgroup v2 enforces the smaller one",
            };
            format!(
                "a quota of {quota_us} us in {period_us} us is more than the {above_quota_us} us \
                 in {above_period_us} us of {}, {what}; use a smaller quota or raise the one above",
                plain(above)
            )
        }
        BadQuota::BurstAboveQuota { burst_us, quota_us } => format!(
            "a burst of {burst_us} us is more than the quota of {quota_us} us; the kernel allows \
             no more than the quota"
        ),
        BadQuota::NoBurst { path } => format!(
            "{}: missing; the kernel has no burst for quotas, which came with Linux 5.14",
            plain(path)
        ),
        BadQuota::MemoryAbove { path, limit_bytes, needed_bytes } => format!(
            "{} allows {} of memory, and {} are needed; use less memory or raise that limit",
            plain(path),
            figure(*limit_bytes as f64, Unit::Bytes),
            figure(*needed_bytes as f64, Unit::Bytes)
        ),
        BadQuota::Refused { path, value, error } => format!(
            "{}: the kernel refuses `{}`: {}; a group above, perhaps one that cannot be seen here, \
             may allow less",
            plain(path),
            plain(value),
            plain(error)
        ),
    }
}

fn pids(pids: &[i32]) -> String {
    if pids.is_empty() {
        return "nothing that can be seen".to_owned();
    }
    let words: Vec<String> = pids.iter().take(5).map(|pid| format!("pid {pid}")).collect();
    words.join(", ")
}
