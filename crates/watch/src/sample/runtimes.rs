//! The runtimes of programs in throttled groups, known by their names, or by the note that Go's
//! linker leaves in its programs. Also the settings that they were started with, so that no
//! advice repeats what is set already.

use crate::reader::{Answer, Readers, What};
use crate::runtime::{LiveRuntime, Settings};
use crate::tick::{GroupTick, RuntimeTick, Tick};
use host::process_files;
use host::roots::Roots;
use probe::live::ThreadCounts;
use std::collections::{BTreeMap, HashMap};

/// Most processes that are looked up in an interval.
const MOST: usize = 4;

/// Most processes that are remembered.
const MOST_KNOWN: usize = 256;

/// A process, its start and its name. Another program in the same process has another name.
type Process = (u32, u64, String);

/// Looks runtimes up, and remembers them.
pub struct Runtimes {
    roots: Roots,
    known: HashMap<Process, Option<LiveRuntime>>,
    settings: HashMap<Process, Option<Settings>>,
}

impl Runtimes {
    /// For this machine.
    pub fn new(roots: &Roots) -> Self {
        Runtimes { roots: roots.clone(), known: HashMap::new(), settings: HashMap::new() }
    }

    /// Names the runtimes of the processes that used most CPU time in groups that were throttled.
    pub fn name(&mut self, tick: &mut Tick, readers: &mut Readers) {
        if self.known.len().max(self.settings.len()) > MOST_KNOWN {
            self.known.clear();
            self.settings.clear();
        }
        for (pid, name) in wanted(tick) {
            let node = is_main_thread_of_node(tick, pid, &name).then_some(LiveRuntime::Node);
            if let Some(runtime) = node.or_else(|| self.runtime(pid, &name, readers)) {
                let settings = self.settings(pid, &name, runtime, readers);
                tick.runtimes.insert(pid, RuntimeTick { runtime, settings });
            }
        }
    }

    fn runtime(&mut self, pid: u32, name: &str, readers: &mut Readers) -> Option<LiveRuntime> {
        match name {
            "java" => return Some(LiveRuntime::Jvm),
            // Newer versions name their first thread.
            "node" | "node-MainThread" => return Some(LiveRuntime::Node),
            "beam.smp" => return Some(LiveRuntime::Beam),
            _ => {}
        }
        let started = process_files::started(&self.roots, pid)?;
        let key = (pid, started, name.to_owned());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let answer = readers.ask(&self.roots, pid, What::IsGo)?;
        let runtime = (answer == Answer::Is(true)).then_some(LiveRuntime::Go);
        self.known.insert(key, runtime);
        runtime
    }

    /// The settings that a runtime was started with; None if they cannot be read, or are not
    /// there yet.
    fn settings(
        &mut self,
        pid: u32,
        name: &str,
        runtime: LiveRuntime,
        readers: &mut Readers,
    ) -> Option<Settings> {
        let key = (pid, process_files::started(&self.roots, pid)?, name.to_owned());
        if let Some(known) = self.settings.get(&key) {
            return *known;
        }
        let settings = match readers.ask(&self.roots, pid, What::Settings(runtime))? {
            Answer::Settings(settings) => Some(settings),
            _ => None,
        };
        self.settings.insert(key, settings);
        settings
    }
}

/// Whether this is a Node.js whose first thread has a name that would fit any program. So its pool
/// has to be at work.
fn is_main_thread_of_node(tick: &Tick, pid: u32, name: &str) -> bool {
    let is_pool = |thread: &ThreadCounts| thread.pid == pid && thread.name == "libuv-worker";
    name == "MainThread" && tick.threads.iter().any(is_pool)
}

/// The processes that used most CPU time in throttled groups, and their names.
fn wanted(tick: &Tick) -> Vec<(u32, String)> {
    let throttled = |group: &&GroupTick| group.gained.nr_throttled.is_some_and(|times| times > 0);
    let held: Vec<&str> =
        tick.groups.iter().filter(throttled).map(|group| group.group.as_str()).collect();
    if held.is_empty() {
        return Vec::new();
    }
    let mut used: BTreeMap<u32, u64> = BTreeMap::new();
    for thread in &tick.threads {
        let sum = used.entry(thread.pid).or_default();
        *sum = sum.saturating_add(thread.ran_ns);
    }
    let mut inside: Vec<(u64, u32, &str)> = used
        .into_iter()
        .filter_map(|(pid, ns)| {
            let process = tick.processes.get(&pid)?;
            let lineage = tick.lineages.get(process.group.as_ref()?)?;
            let is_held = lineage.iter().any(|group| held.contains(&group.as_str()));
            is_held.then_some((ns, pid, process.name.as_str()))
        })
        .collect();
    inside.sort_by_key(|(ns, pid, _)| (std::cmp::Reverse(*ns), *pid));
    inside.into_iter().take(MOST).map(|(_, pid, name)| (pid, name.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Setting;
    use crate::testing::{group, process, second, thread};

    #[test]
    fn this_very_program_is_no_program_in_go() {
        let mut runtimes = Runtimes::new(&Roots::real());
        let mut of = |name| runtimes.runtime(std::process::id(), name, &mut Readers::Here);
        assert_eq!((of("web"), of("java")), (None, Some(LiveRuntime::Jvm)));
    }

    #[test]
    fn each_version_of_node_names_its_first_thread_otherwise() {
        let mut runtimes = Runtimes::new(&Roots::real());
        let mut of = |name| runtimes.runtime(std::process::id(), name, &mut Readers::Here);
        assert_eq!([of("node"), of("node-MainThread")], [Some(LiveRuntime::Node); 2]);
        let mut tick = second();
        tick.threads = vec![thread(7, 100, 0)];
        assert!(!is_main_thread_of_node(&tick, 7, "MainThread"));
        tick.threads[0].name = "libuv-worker".to_owned();
        assert!(
            is_main_thread_of_node(&tick, 7, "MainThread")
                && !is_main_thread_of_node(&tick, 8, "MainThread")
        );
        assert!(!is_main_thread_of_node(&tick, 7, "python3"), "a program with libuv");
    }

    #[test]
    fn settings_are_read_of_the_files_of_a_process() {
        let tree = testing::Tree::new(&[
            ("proc/7/stat", "7 (web) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 555 0 0"),
            ("proc/7/cmdline", "web\0"),
            ("proc/7/environ", "SECRET=geheim\0GOMAXPROCS=3\0"),
        ]);
        let mut runtimes = Runtimes::new(&Roots::at(tree.root()));
        let mut of = |pid| runtimes.settings(pid, "web", LiveRuntime::Go, &mut Readers::Here);
        assert_eq!(of(7).and_then(|of| of.cpus), Some(Setting::GoMaxProcs(3)));
        assert_eq!(of(8), None);
    }

    #[test]
    fn only_programs_in_throttled_groups_are_looked_up() {
        let mut tick = second();
        for (pid, at) in [(1, "/held/below"), (2, "/free"), (3, "/held/below")] {
            process(&mut tick, pid, &format!("p{pid}"), Some(at));
            tick.threads.push(thread(pid, u64::from(pid) * 10, 0));
        }
        let lineage = |group: &str| vec![group.to_owned(), "/held".to_owned()];
        tick.lineages.insert("/held/below".into(), lineage("/held/below"));
        tick.lineages.insert("/free".into(), vec!["/free".into()]);
        tick.groups = vec![group("/held", 50, 400, (3, 100)), group("/free", 50, 100, (0, 0))];
        assert_eq!(wanted(&tick), [(3, "p3".to_owned()), (1, "p1".to_owned())]);
    }
}
