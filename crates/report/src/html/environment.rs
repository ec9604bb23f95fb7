//! The environment in which a record was made.

use crate::chart::Table;
use model::machine::{Hold, LoadUser, UserChoice};
use model::{Judged, Vm};

/// The machine, the VM and the tool, one row per known fact.
pub fn environment(record: &Judged) -> Table {
    let host = &record.machine;
    let mut table = Table::new(["what", "value"]);
    let mut add = |what: &str, value: Option<String>| {
        if let Some(value) = value {
            table.rows.push(vec![what.to_owned(), value]);
        }
    };
    add("kernel", Some(host.kernel.clone()));
    add("build", Some(host.kernel_build.clone()));
    add("distribution", host.distribution.clone());
    add("architecture", Some(host.arch.clone()));
    add("timer interrupts a second", host.hz.map(|hz| hz.to_string()));
    add("preemption", host.preemption.clone());
    add("clock source", host.clocksource.clone());
    add("CPUs", Some(format!("{} online, {} allowed", host.cpus.len(), host.allowed_cpus.len())));
    add("CPU model", host.cpu_model.clone());
    add("memory", host.memory_bytes.map(|b| format!("{:.1} GiB", b as f64 / (1u64 << 30) as f64)));
    add("virtual machine", host.virtualised.map(|is| if is { "yes" } else { "no" }.to_owned()));
    if let Some(cgroup) = &host.cgroup {
        add("control groups", Some(cgroup.version.clone()));
        add("CPU quota around tailback", cgroup.cpu_limit.map(|limit| format!("{limit} CPUs")));
    }
    add("load runs as", host.load_user.map(|user| load_user(&user)));
    add("other runs at the same time", host.hold.map(|hold| other_runs(hold).to_owned()));
    for (name, vm) in vms(record) {
        add(&format!("Erlang VM of {name}"), Some(of_vm(vm)));
    }
    add("tailback", Some(record.tool.version.clone()));
    add("started", Some(record.started.clone()));
    // A watch runs no trials and makes no random choice.
    let is_study = record.live.is_none();
    let trials = is_study.then(|| format!(", {} trials", record.trials.len()));
    add("took", Some(format!("{:.0} s{}", record.elapsed_s, trials.unwrap_or_default())));
    add("seed", is_study.then(|| record.plan.seed.to_string()));
    table
}

fn load_user(user: &LoadUser) -> String {
    let why = match user.chosen {
        UserChoice::Caller => "the caller",
        UserChoice::Sudo => "the user who called sudo",
        UserChoice::System => "a system user",
    };
    format!("user {}, group {} ({why})", user.uid, user.gid)
}

fn other_runs(hold: Hold) -> &'static str {
    match hold {
        Hold::Exclusive => "none, by a lock",
        Hold::Unlocked => "not known, no lock is available",
        Hold::Shared => "allowed (TAILBACK_SHARE_HOST)",
    }
}

/// The VM of each arm that ran in a VM. Arms with the same VM are listed once.
fn vms(record: &Judged) -> Vec<(&str, &Vm)> {
    let mut found: Vec<(&str, &Vm)> = Vec::new();
    for arm in record.plan.arms.iter().take(24) {
        let mut trials = record.trials.iter().filter(|trial| trial.arm == arm.id);
        let vm = trials.find_map(|trial| trial.observation.vm.as_ref());
        if let Some(vm) = vm.filter(|vm| found.iter().all(|(_, other)| other != vm)) {
            found.push((&arm.id, vm));
        }
    }
    found
}

/// The path of `erl`, and the package that it came from.
fn program(vm: &Vm) -> String {
    let origin = vm.origin.as_ref();
    let origin = origin.map(|origin| format!("erlang-base {} of {}", origin.version, origin.suite));
    origin.map_or_else(|| vm.erl.clone(), |origin| format!("{origin}, {}", vm.erl))
}

fn of_vm(vm: &Vm) -> String {
    let quota = vm.cpu_quota.map_or_else(String::new, |quota| format!(", CPU quota seen: {quota}"));
    let flags = if vm.flags.is_empty() { "none".to_owned() } else { vm.flags.join(" ") };
    let user = vm.uid.map_or_else(String::new, |uid| format!(", user {uid}"));
    format!(
        "OTP {}, erts {}, {} of {} schedulers online, {} dirty CPU, {} dirty I/O{quota}{user}; flags: {flags}; {}",
        vm.otp,
        vm.erts,
        vm.schedulers_online,
        vm.schedulers,
        vm.dirty_cpu_online,
        vm.dirty_io,
        program(vm)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_has_neither_trials_nor_a_seed() {
        let mut record = crate::testing::record();
        let row = |record: &Judged, what: &str| {
            let rows = environment(record).rows;
            rows.into_iter().find(|row| row[0] == what).map(|row| row[1].clone())
        };
        assert_eq!(row(&record, "took").as_deref(), Some("3 s, 4 trials"));
        assert_eq!(row(&record, "seed").as_deref(), Some("1"));
        record.facts.live = Some(model::Live::default());
        assert_eq!(row(&record, "took").as_deref(), Some("3 s"));
        assert_eq!(row(&record, "seed"), None);
    }
}
