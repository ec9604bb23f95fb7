//! Which names have series of their own in the metrics of a watch that goes on.
//!
//! Any program of the machine may call itself something else each second, and each name is a series
//! that Prometheus keeps for hours. So the first names are kept as long as they lose time, and the
//! others are added up as [`OTHER`]. Only a name that was not there for [`FORGOTTEN_S`] makes room
//! for another: the number of series has a bound, and so has the number of new ones in an hour. Of
//! one group only some names are kept, so that a group that invents names uses up its own share
//! first.

use super::family::Labels;
use crate::prose::plain;
use model::live::{Finding, Node, Program, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// What stands for all names that have no series of their own.
pub const OTHER: &str = "other";

/// How long a name that is not there is kept, in seconds.
pub const FORGOTTEN_S: f64 = 3_600.0;

/// Programs, and of those in one group.
const PROGRAMS: Most = Most { all: 500, of_one: 100 };

/// Findings, each with its culprit, and of those culprits of one stall of one victim.
const FINDINGS: Most = Most { all: 500, of_one: 10 };

/// Erlang nodes, and of those of one program.
const NODES: Most = Most { all: 64, of_one: 16 };

/// The longest name of a group, in characters: a user may nest groups in groups.
const LONGEST: usize = 256;

/// How many names are kept.
#[derive(Debug, Clone, Copy)]
struct Most {
    all: usize,
    of_one: usize,
}

/// The names that have series of their own so far.
#[derive(Debug)]
pub struct Names {
    programs: Known,
    findings: Known,
    nodes: Known,
    /// Those of the last figures that have none.
    folded: BTreeSet<(String, String)>,
    /// Whose the groups of programs are that have a name, by the value of their label.
    groups: BTreeMap<String, Labels>,
    /// When the figures are that are looked at, in seconds.
    now_s: f64,
}

impl Names {
    /// For figures that are shown again and again.
    pub fn bounded() -> Self {
        Names::new(PROGRAMS, FINDINGS, NODES)
    }

    /// For figures that are shown once.
    pub(super) fn unbounded() -> Self {
        let all = Most { all: usize::MAX, of_one: usize::MAX };
        Names::new(all, all, all)
    }

    fn new(programs: Most, findings: Most, nodes: Most) -> Self {
        let known = |most| Known { most, names: BTreeMap::new(), count: 0 };
        Names {
            programs: known(programs),
            findings: known(findings),
            nodes: known(nodes),
            folded: BTreeSet::new(),
            groups: BTreeMap::new(),
            now_s: 0.0,
        }
    }

    /// Whether the group in these labels still has series of its own.
    pub(super) fn know(&self, labels: &Labels) -> bool {
        let group = labels.iter().find(|(label, _)| *label == "group").map(|(_, group)| group);
        group.is_some_and(|group| group == OTHER || self.programs.names.contains_key(group))
    }

    /// Starts with the figures of another interval, so many seconds after the first one.
    pub(super) fn begin(&mut self, now_s: f64) {
        self.folded.clear();
        self.now_s = now_s;
    }

    /// Forgets the names that were not there since this moment.
    pub(super) fn forget(&mut self, last_s: f64) {
        for known in [&mut self.programs, &mut self.findings, &mut self.nodes] {
            known.forget(last_s);
        }
        self.groups.retain(|group, _| self.programs.names.contains_key(group));
    }

    /// The labels of each group of which it is known whose it is: the group, and what its unit,
    /// container or pod is called.
    pub(super) fn groups(&self) -> Vec<Labels> {
        let labels = |(group, names): (&String, &Labels)| {
            [vec![("group", group.clone())], names.clone()].concat()
        };
        self.groups.iter().map(labels).collect()
    }

    /// How many names of these figures were folded.
    pub(super) fn folded(&self) -> usize {
        self.folded.len()
    }

    /// The labels of a program.
    pub(super) fn program(&mut self, program: &Program) -> Labels {
        let (name, group) = self.admitted(program);
        labels(name, group)
    }

    /// The labels of a finding: victim, stall and culprit.
    pub(super) fn finding(&mut self, finding: &Finding) -> Labels {
        let (name, group) = self.admitted(&finding.victim);
        // A record may be anybody's, and each name is a series of its own.
        let stall = watch::findings::find(&finding.stall).map_or(OTHER, |stall| stall.id);
        let culprit = finding.culprits.first().map_or_else(String::new, |one| short(&one.name));
        let victim = format!("{name}\0{group}\0{stall}");
        let mut all = match self.findings.admits(&victim, &culprit, self.now_s) {
            true => (labels(name, group), culprit),
            false => {
                self.folded.insert((victim.clone(), culprit));
                let victim = match self.findings.admits_rest(&victim, self.now_s) {
                    true => labels(name, group),
                    false => labels(OTHER.to_owned(), OTHER.to_owned()),
                };
                (victim, OTHER.to_owned())
            }
        };
        all.0.push(("stall", stall.to_owned()));
        all.0.push(("culprit", all.1));
        all.0
    }

    /// The labels of an Erlang node.
    pub(super) fn node(&mut self, node: &Node) -> Labels {
        let (name, group) = self.admitted(&node.program);
        let own = plain(node.name.as_deref().unwrap_or(""));
        let (mut all, own) = match self.nodes.admits(&format!("{name}\0{group}"), &own, self.now_s)
        {
            true => (labels(name, group), own),
            false => {
                self.folded.insert((name, own));
                (labels(OTHER.to_owned(), OTHER.to_owned()), OTHER.to_owned())
            }
        };
        all.push(("node", own));
        all
    }

    /// A program's name and group, or what stands for them.
    fn admitted(&mut self, program: &Program) -> (String, String) {
        let (name, group) = (short(&program.name), group(program));
        let is_own = self.programs.admits(&group, &name, self.now_s);
        let is_known = is_own || self.programs.names.contains_key(&group);
        let names = program.workload.as_ref().filter(|_| is_known).map(workload);
        if let Some(names) = names.filter(|names| !names.is_empty()) {
            self.groups.insert(group.clone(), names);
        }
        if is_own {
            return (name, group);
        }
        let shown = if is_known { group.clone() } else { OTHER.to_owned() };
        self.folded.insert((group, name));
        (OTHER.to_owned(), shown)
    }
}

/// Names, each of something, and when it was there last.
#[derive(Debug)]
struct Known {
    most: Most,
    names: BTreeMap<String, BTreeMap<String, f64>>,
    count: usize,
}

impl Known {
    /// Whether this name has a series of its own, from now on where there is still room.
    fn admits(&mut self, of: &str, name: &str, now_s: f64) -> bool {
        if let Some(last_s) = self.names.get_mut(of).and_then(|own| own.get_mut(name)) {
            *last_s = now_s;
            return true;
        }
        let has_room = self.names.get(of).is_none_or(|own| own.len() < self.most.of_one);
        has_room && self.adds(of, name, now_s)
    }

    /// The same for what stands for all further names of one.
    fn admits_rest(&mut self, of: &str, now_s: f64) -> bool {
        match self.names.get_mut(of).and_then(|own| own.get_mut(OTHER)) {
            Some(last_s) => {
                *last_s = now_s;
                true
            }
            None => self.adds(of, OTHER, now_s),
        }
    }

    fn adds(&mut self, of: &str, name: &str, now_s: f64) -> bool {
        let has_room = self.count < self.most.all;
        if has_room {
            self.names.entry(of.to_owned()).or_default().insert(name.to_owned(), now_s);
            self.count += 1;
        }
        has_room
    }

    fn forget(&mut self, last_s: f64) {
        self.names.retain(|_, own| {
            own.retain(|_, at_s| *at_s >= last_s);
            !own.is_empty()
        });
        self.count = self.names.values().map(BTreeMap::len).sum();
    }
}

fn labels(program: String, group: String) -> Labels {
    vec![("program", program), ("group", group)]
}

/// What the parts of a workload are called, as labels; empty where no name is known. They are none
/// that Prometheus itself gives to the pod that it scrapes.
fn workload(workload: &Workload) -> Labels {
    let mut all = Vec::new();
    let mut add = |label, value: Option<&str>| {
        all.extend(value.map(|value| (label, plain(value))));
    };
    let (container, pod) = match workload {
        Workload::Unit(unit) => {
            add("unit", Some(&unit.name));
            add("user", unit.user.map(|user| user.to_string()).as_deref());
            (None, None)
        }
        Workload::Container(container) => (Some(container), container.pod.as_ref()),
        Workload::Pod(pod) => (None, Some(pod)),
        Workload::Task(task) => {
            add("task", Some(&task.name));
            add("allocation", Some(&task.allocation));
            (None, None)
        }
    };
    add("k8s_namespace", pod.and_then(|pod| pod.namespace.as_deref()));
    add("k8s_pod", pod.and_then(|pod| pod.name.as_deref()));
    add("container_name", container.and_then(|container| container.name.as_deref()));
    add("container_image", container.and_then(|container| container.image.as_deref()));
    all
}

/// A program's name without what follows a slash: threads of the kernel have their CPU or their
/// work there, and change it.
fn short(name: &str) -> String {
    let name = plain(name);
    match name.split_once('/') {
        Some((first, _)) if !first.is_empty() => first.to_owned(),
        _ => name,
    }
}

/// The end of a program's group, where groups differ.
fn group(program: &Program) -> String {
    let name = plain(program.group.as_deref().unwrap_or("/"));
    match name.char_indices().rev().nth(LONGEST - 1) {
        Some((from, _)) if from > 0 => format!("…{}", &name[from..]),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{Container, Pod};

    fn program(name: &str, group: &str) -> Program {
        Program { name: name.into(), group: Some(group.into()), ..Program::default() }
    }

    fn values(labels: Labels) -> Vec<String> {
        labels.into_iter().map(|(_, value)| value).collect()
    }

    #[test]
    fn the_first_names_stay_and_a_group_uses_up_its_own_share() {
        let mut names = Names::bounded();
        assert_eq!(values(names.program(&program("old", "/a"))), ["old", "/a"]);
        for number in 0..9_999 {
            names.begin(0.0);
            let shown = values(names.program(&program(&format!("eve{number}"), "/eve")));
            let is_own = number < PROGRAMS.of_one;
            assert_eq!(shown[0] != OTHER, is_own, "{number}");
            assert_eq!((shown[1].as_str(), names.folded()), ("/eve", usize::from(!is_own)));
        }
        // Others are not affected, and who was there stays there.
        assert_eq!(values(names.program(&program("new", "/b"))), ["new", "/b"]);
        assert_eq!(values(names.program(&program("eve0", "/eve"))), ["eve0", "/eve"]);
    }

    #[test]
    fn many_groups_are_bounded_too() {
        let mut names = Names::bounded();
        let mut shown = BTreeSet::new();
        for number in 0..9_999 {
            let one = program(&format!("eve{number}"), &format!("/eve/{}", number % 2_000));
            shown.insert(values(names.program(&one)));
        }
        assert!(shown.len() <= 2 * PROGRAMS.all + 1, "{}", shown.len());
        assert!(shown.contains(&vec![OTHER.to_owned(), OTHER.to_owned()]));
    }

    #[test]
    fn groups_are_named_once_each_and_only_those_that_are_shown() {
        let mut names = Names::bounded();
        let text = |text: &str| Some(text.to_owned());
        let pod = Pod { namespace: text("shop"), name: text("orders-0"), uid: None };
        let container = Container {
            name: text("db"),
            image: text("postgres:16"),
            pod: Some(pod),
            ..Container::default()
        };
        let in_pod = Program {
            workload: Some(Workload::Container(container)),
            ..program("postgres", "/kubepods/a")
        };
        names.begin(0.0);
        names.program(&in_pod);
        names.program(&Program { name: "sh".to_owned(), ..in_pod.clone() });
        names.program(&program("make", "/build"));
        let wanted = vec![
            ("group", "/kubepods/a".to_owned()),
            ("k8s_namespace", "shop".to_owned()),
            ("k8s_pod", "orders-0".to_owned()),
            ("container_name", "db".to_owned()),
            ("container_image", "postgres:16".to_owned()),
        ];
        assert_eq!(names.groups(), [wanted]);
        // A group whose programs are all folded has no figures that it could explain.
        for number in 0..2 * PROGRAMS.all {
            names.program(&program("eve", &format!("/eve/{number}")));
        }
        let late = Program { group: Some("/late".to_owned()), ..in_pod };
        assert_eq!(values(names.program(&late)), [OTHER, OTHER]);
        assert_eq!(names.groups().len(), 1);
        // Nor has one that was not there for long.
        names.begin(9.0);
        names.forget(5.0);
        assert!(names.groups().is_empty());
    }

    #[test]
    fn numbers_of_kernel_threads_and_endless_groups_are_cut() {
        let mut names = Names::bounded();
        let name =
            |name: &str, names: &mut Names| values(names.program(&program(name, "/")))[0].clone();
        for (given, shown) in [("kworker/0:1-events", "kworker"), ("/usr/bin/x", "/usr/bin/x")] {
            assert_eq!(name(given, &mut names), shown);
        }
        let nested = group(&program("x", &"/ä".repeat(2_000)));
        assert_eq!((nested.chars().count(), nested.starts_with('…')), (LONGEST + 1, true));
        let whole = format!("/{}", "a".repeat(LONGEST - 1));
        assert_eq!(group(&program("x", &whole)), whole);
    }
}
