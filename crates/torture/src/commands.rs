//! The commands of the cases.

use std::path::Path;

/// A command, and how long it takes.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Its name here.
    pub name: &'static str,
    /// Its words. `{folder}` is the folder of the studies, `{kernel}` the guest's kernel,
    /// `{node}` an Erlang node, and `{cookie}` the file of its cookie.
    pub words: &'static str,
    /// About how long it takes on a machine with two CPUs, in milliseconds. Kills are spread over
    /// this time.
    pub lasts_ms: u64,
    /// How often it is chosen, relative to the others.
    pub weight: u32,
    /// Whether it is short enough to be run and killed many times in its n-th call.
    pub short: bool,
    /// The thing on this machine that it needs, if it does not run everywhere.
    pub needs: Option<Need>,
}

/// A thing that only some machines have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A guest's kernel.
    Kernel,
    /// Control groups v2 with the memory controller.
    Memory,
    /// These with the io controller too, loop devices, and mkfs.ext4.
    Disks,
    /// An Erlang node.
    Node,
}

/// Things on this machine that only some commands need.
#[derive(Debug, Clone, Copy)]
pub struct Here {
    /// A guest's kernel.
    pub kernel: bool,
    /// Control groups v2 with the memory controller, as in a guest.
    pub memory: bool,
    /// These with the io controller too, loop devices, and mkfs.ext4.
    pub disks: bool,
    /// An Erlang node.
    pub node: bool,
}

impl Here {
    /// Looks at this machine; the caller says whether there are a guest's kernel and a node.
    pub fn with(kernel: bool, node: bool) -> Self {
        let controllers = std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers");
        let controllers = controllers.unwrap_or_default();
        let has = |wanted: &str| controllers.split_whitespace().any(|name| name == wanted);
        let memory = has("memory");
        let mkfs = ["/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4"].map(Path::new);
        let makes = Path::new("/dev/loop-control").exists() && mkfs.iter().any(|one| one.exists());
        Here { kernel, memory, disks: memory && has("io") && makes, node }
    }
}

impl Command {
    /// Whether this command can run here.
    pub fn runs(&self, here: Here) -> bool {
        match self.needs {
            None => true,
            Some(Need::Kernel) => here.kernel,
            Some(Need::Memory) => here.memory,
            Some(Need::Disks) => here.disks,
            Some(Need::Node) => here.node,
        }
    }

    const fn with(self, need: Need) -> Command {
        Command { needs: Some(need), ..self }
    }
}

const fn long(name: &'static str, words: &'static str, lasts_ms: u64, weight: u32) -> Command {
    Command { name, words, lasts_ms, weight, short: false, needs: None }
}

const fn short(name: &'static str, words: &'static str, lasts_ms: u64) -> Command {
    Command { name, words, lasts_ms, weight: 1, short: true, needs: None }
}

/// With everything that it can have open at once. It runs until it is killed.
const WATCH: &str = "watch --json --ring 4MiB --record /tmp/w.json --listen 127.0.0.1:0";
const WATCH_NODE: &str = "watch --json --ring 4MiB --record /tmp/w.json --listen 127.0.0.1:0 \
     --node {node} --cookie-file {cookie}";

const COMPARE: &str =
    "compare --run {folder}/proc-vs-map.toml {folder}/proc-vs-map.toml --quick --pairs 2";

/// All commands.
pub const ALL: &[Command] = &[
    long("mmap-lock", "run mmap-lock --quick", 15_000, 3),
    long("cpu-quota", "run cpu-quota --quick", 14_000, 4),
    long("blocking-nif", "run blocking-nif --quick", 12_000, 3),
    long("mailbox-flood", "run mailbox-flood --quick", 12_000, 3),
    long("busy-wait", "run busy-wait --quick", 25_000, 3),
    long("preempted-holder", "run preempted-holder --quick", 9_000, 2),
    long("quota-blind", "run quota-blind --runtime node --quick", 20_000, 2),
    long("memory-high", "run memory-high --quick", 20_000, 2).with(Need::Memory),
    long("held-mutex", "run held-mutex --by quota --quick", 25_000, 2),
    long("group-move", "run group-move --quick", 25_000, 2),
    long("io-journal", "run io-journal --quick", 45_000, 2).with(Need::Disks),
    long("check", "check", 80_000, 1),
    long("vm", "vm --kernel {kernel} -- run mmap-lock --quick", 25_000, 2).with(Need::Kernel),
    long("vm-list", "vm --kernel {kernel} -- list", 9_000, 2).with(Need::Kernel),
    long("vm-root", "vm --kernel {kernel} --root {folder} -- list", 9_000, 1).with(Need::Kernel),
    long("matrix", "matrix cpu-quota --quick --kernels {kernel}", 40_000, 1).with(Need::Kernel),
    long("study-quota", "study {folder}/fibtest.toml --quick --yes", 25_000, 1),
    long("study-mmap", "study {folder}/proc-vs-map.toml --quick --yes", 25_000, 1),
    long("study-nif", "study {folder}/nif-collapse.toml --quick --yes", 25_000, 1),
    long("study-mailbox", "study {folder}/mailbox-trials.toml --quick --yes", 25_000, 1),
    long("study-spin", "study {folder}/cloudant-sbwt.toml --quick --yes", 40_000, 1),
    long("compare", COMPARE, 40_000, 2),
    long("advise", "advise --quota 0.5 --quick", 25_000, 2),
    long("compat-map", "compat run-proc-vs-map --nsamples 2 -- --duration 2", 15_000, 1),
    long("compat-fib", "compat runfibtest", 15_000, 1),
    long("compat-flood", "compat msgq-flood", 15_000, 1),
    long("watch", WATCH, 3_000, 2),
    long("watch-node", WATCH_NODE, 3_000, 2).with(Need::Node),
    short("short-mmap", "run mmap-lock --busy 1 --samples 2 --duration 50ms --no-probe", 1_000),
    short("short-quota", "run cpu-quota --samples 1 --duration 100ms --no-probe", 2_000),
    short("short-flood", "run mailbox-flood --quick --samples 1 --no-probe", 6_000),
    short("short-spin", "run busy-wait --quick --rate 100 --samples 1 --no-probe", 6_000),
    short("short-memory", "run memory-high --samples 1 --duration 200ms --no-probe", 4_000)
        .with(Need::Memory),
    short("short-probed", "run mmap-lock --busy 1 --samples 1 --duration 50ms", 2_000),
];

/// The command with this name.
pub fn find(name: &str) -> Option<&'static Command> {
    ALL.iter().find(|command| command.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_words_is_needed() {
        for command in ALL {
            let has = |word: &str| command.words.contains(word);
            assert_eq!(has("{kernel}"), command.needs == Some(Need::Kernel), "{}", command.name);
            assert_eq!(has("{node}"), command.needs == Some(Need::Node), "{}", command.name);
        }
    }
}
