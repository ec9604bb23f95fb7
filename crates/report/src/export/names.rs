//! Selects the names that have series of their own in the metrics of a long watch.
//!
//! Any program may change its name every second, and Prometheus keeps a series for each name for
//! hours. The first names are therefore kept as long as they lose time. All others are added up
//! as [`OTHER`]. A new name gets a series only when another name was absent for [`FORGOTTEN_S`].
//! This limits the number of series, and the number of new series in an hour. Each group may have
//! only some of the names, so that a group that invents names uses up its own share first.

use super::family::Labels;
use crate::prose::plain;
use model::live::{Finding, Node, Program, Workload};
use std::collections::{BTreeMap, BTreeSet};
use watch::Subject;

/// The label for all names that have no series of their own.
pub const OTHER: &str = "other";

/// How long an absent name is kept, in seconds.
pub const FORGOTTEN_S: f64 = 3_600.0;

/// Limits of programs, in total and per group.
const PROGRAMS: Most = Most { all: 500, of_one: 100 };

/// Limits of findings, in total and for the culprits of one stall of one victim.
const FINDINGS: Most = Most { all: 500, of_one: 10 };

/// Limits of Erlang nodes, in total and per program.
const NODES: Most = Most { all: 64, of_one: 16 };

/// The stall whose findings also name the group of their culprit. Alertmanager holds these alerts
/// back beside one about the culprit, and two containers may run programs of one name. Culprits of
/// other stalls come from many short-lived groups, and each group would be a series.
const NAMES_CULPRIT_GROUP: &str = "asleep-behind";

/// The longest name of a group, in characters. A user may nest groups without limit.
const LONGEST: usize = 256;

/// Limits of the number of names.
#[derive(Debug, Clone, Copy)]
struct Most {
    all: usize,
    of_one: usize,
}

/// The names that have series of their own.
#[derive(Debug)]
pub struct Names {
    programs: Known,
    findings: Known,
    nodes: Known,
    /// The names of the current interval that have no series of their own.
    folded: BTreeSet<(String, String)>,
    /// The owners of the groups in the labels `group`, `limit` and `culprit_group`, by the value of
    /// the label, and when each was last present. Only groups with a known owner are listed.
    groups: BTreeMap<String, (Labels, f64)>,
    /// The time of the current interval, in seconds.
    now_s: f64,
}

impl Names {
    /// For figures that are exported repeatedly.
    pub fn bounded() -> Self {
        Names::new(PROGRAMS, FINDINGS, NODES)
    }

    /// For figures that are exported once.
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

    /// Whether the group in these labels still has a series of its own.
    pub(super) fn know(&self, labels: &Labels) -> bool {
        let group = labels.iter().find(|(label, _)| *label == "group").map(|(_, group)| group);
        group.is_some_and(|group| group == OTHER || self.programs.names.contains_key(group))
    }

    /// Starts the next interval, at `now_s` seconds after the first one.
    pub(super) fn begin(&mut self, now_s: f64) {
        self.folded.clear();
        self.now_s = now_s;
    }

    /// Forgets the names that were last present before `last_s`.
    pub(super) fn forget(&mut self, last_s: f64) {
        for known in [&mut self.programs, &mut self.findings, &mut self.nodes] {
            known.forget(last_s);
        }
        self.groups
            .retain(|group, (_, at_s)| *at_s >= last_s || self.programs.names.contains_key(group));
    }

    /// The labels of each group whose owner is known: the group, and the names of its unit,
    /// container or pod.
    pub(super) fn groups(&self) -> Vec<Labels> {
        let labels = |(group, (names, _)): (&String, &(Labels, f64))| {
            [vec![("group", group.clone())], names.clone()].concat()
        };
        self.groups.iter().map(labels).collect()
    }

    /// The number of names of this interval that were folded.
    pub(super) fn folded(&self) -> usize {
        self.folded.len()
    }

    /// The labels of a program.
    pub(super) fn program(&mut self, program: &Program) -> Labels {
        let (name, group) = self.admitted(program);
        labels(name, group)
    }

    /// The labels of a finding: victim, stall, culprit, and the group whose limit it is. That label
    /// is empty if the finding is about one program. A program that sleeps behind another one also
    /// has the group of that other one.
    pub(super) fn finding(&mut self, finding: &Finding) -> Labels {
        let (name, group) = self.admitted(&finding.victim);
        // A record may come from anyone, and each name would make a series: unknown stalls are
        // folded.
        let stall = watch::findings::find(&finding.stall).map_or(OTHER, |stall| stall.id);
        let culprit = finding.culprits.first().map_or_else(String::new, |one| short(&one.name));
        let culprit_group = culprit_group(finding);
        let subject = Subject::of(finding);
        let limit = subject.limit().map_or_else(String::new, ending);
        let victim = format!("{name}\0{group}\0{stall}\0{limit}");
        let own = [labels(name, group), vec![("limit", limit)]].concat();
        let by = match &culprit_group {
            Some(group) => format!("{culprit}\0{group}"),
            None => culprit.clone(),
        };
        let (mut all, culprit, culprit_group) =
            match self.findings.gets_series(&victim, &by, self.now_s) {
                true => (own, culprit, culprit_group),
                false => {
                    self.folded.insert((victim.clone(), by));
                    let is_own = self.findings.gets_shared_series(&victim, self.now_s);
                    (if is_own { own } else { folded_finding() }, OTHER.to_owned(), None)
                }
            };
        all.extend([("stall", stall.to_owned()), ("culprit", culprit)]);
        all.extend(culprit_group.map(|group| ("culprit_group", group)));
        let of_culprit = finding.culprits.first().and_then(|one| one.group.as_deref());
        for (label, group) in [("limit", subject.limit()), ("culprit_group", of_culprit)] {
            // A label that was folded has another value.
            if let Some(group) = group.filter(|group| all.contains(&(label, ending(group)))) {
                self.add_owner(ending(group), finding.workloads.get(group));
            }
        }
        all
    }

    /// The labels of an Erlang node.
    pub(super) fn node(&mut self, node: &Node) -> Labels {
        let (name, group) = self.admitted(&node.program);
        let own = plain(node.name.as_deref().unwrap_or(""));
        let (mut all, own) =
            match self.nodes.gets_series(&format!("{name}\0{group}"), &own, self.now_s) {
                true => (labels(name, group), own),
                false => {
                    self.folded.insert((name, own));
                    (labels(OTHER.to_owned(), OTHER.to_owned()), OTHER.to_owned())
                }
            };
        all.push(("node", own));
        all
    }

    /// A program's name and group, or the labels that replace them.
    fn admitted(&mut self, program: &Program) -> (String, String) {
        let (name, group) = (short(&program.name), group(program));
        let is_own = self.programs.gets_series(&group, &name, self.now_s);
        let is_known = is_own || self.programs.names.contains_key(&group);
        if is_known {
            self.add_owner(group.clone(), program.workload.as_ref());
        }
        if is_own {
            return (name, group);
        }
        let shown = if is_known { group.clone() } else { OTHER.to_owned() };
        self.folded.insert((group, name));
        (OTHER.to_owned(), shown)
    }

    /// Keeps the names of the owner of a group in a label, if they are known.
    fn add_owner(&mut self, group: String, owner: Option<&Workload>) {
        let names = owner.map(workload).unwrap_or_default();
        if !names.is_empty() {
            self.groups.insert(group, (names, self.now_s));
        }
    }
}

/// Names by owner, with the time when each was last present.
#[derive(Debug)]
struct Known {
    most: Most,
    names: BTreeMap<String, BTreeMap<String, f64>>,
    count: usize,
}

impl Known {
    /// Whether this name has a series of its own. A new name gets one if there is room.
    fn gets_series(&mut self, of: &str, name: &str, now_s: f64) -> bool {
        if let Some(last_s) = self.names.get_mut(of).and_then(|own| own.get_mut(name)) {
            *last_s = now_s;
            return true;
        }
        let has_room = self.names.get(of).is_none_or(|own| own.len() < self.most.of_one);
        has_room && self.adds(of, name, now_s)
    }

    /// The same for [`OTHER`], the label for all further names of one owner.
    fn gets_shared_series(&mut self, of: &str, now_s: f64) -> bool {
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

/// Labels for all findings that have no series of their own. Limits of several groups are not
/// added up.
fn folded_finding() -> Labels {
    [labels(OTHER.to_owned(), OTHER.to_owned()), vec![("limit", String::new())]].concat()
}

/// The names of a workload as labels; empty if none is known. They differ from the labels that
/// Prometheus adds for the pod that it scrapes.
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

/// A program's name up to the first slash. Kernel threads have their CPU or their work after the
/// slash, and it changes.
fn short(name: &str) -> String {
    let name = plain(name);
    match name.split_once('/') {
        Some((first, _)) if !first.is_empty() => first.to_owned(),
        _ => name,
    }
}

/// A program's group, as a label.
fn group(program: &Program) -> String {
    ending(program.group.as_deref().unwrap_or("/"))
}

/// The group of the first culprit, as a label; None for stalls without this label.
fn culprit_group(finding: &Finding) -> Option<String> {
    let has_label = finding.stall == NAMES_CULPRIT_GROUP;
    finding.culprits.first().filter(|_| has_label).map(group)
}

/// The end of a group's name, since the ends of group names differ.
fn ending(group: &str) -> String {
    let name = plain(group);
    match name.char_indices().rev().nth(LONGEST - 1) {
        Some((from, _)) if from > 0 => format!("…{}", &name[from..]),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{Container, Opaque, Pod};

    fn program(name: &str, group: &str) -> Program {
        Program { name: name.into(), group: Some(group.into()), ..Program::default() }
    }

    /// The facts of a finding about the quota of the group `/pod`, which is above the victim.
    fn quota_of_pod() -> Opaque {
        Opaque::of(&serde_json::json!({
            "group": "/pod", "whose": "ancestor", "quota_us": 20_000, "period_us": 100_000,
            "changed": false, "throttled_periods": 0.5, "throttled_ms_per_s": 200.0, "threads": 1,
            "cause": "used-up"
        }))
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
        // Other groups are not affected, and the first names stay.
        assert_eq!(values(names.program(&program("new", "/b"))), ["new", "/b"]);
        assert_eq!(values(names.program(&program("eve0", "/eve"))), ["eve0", "/eve"]);
    }

    #[test]
    fn all_programs_under_one_limit_have_the_same_label() {
        let mut names = Names::bounded();
        let quota = quota_of_pod();
        let mut of = |stall: &str, victim: &str, facts: &Opaque| {
            let victim = program(victim, &format!("/pod/{victim}"));
            let finding = Finding {
                stall: stall.to_owned(),
                victim,
                facts: facts.clone(),
                ..Finding::default()
            };
            values(names.finding(&finding))
        };
        for name in ["web", "db"] {
            let group = format!("/pod/{name}");
            let labels = of("cpu-quota", name, &quota);
            assert_eq!(labels, [name, group.as_str(), "/pod", "cpu-quota", ""]);
        }
        // A finding about one program has no limit.
        assert_eq!(of("neighbour", "web", &Opaque::default())[2], "");
        assert_eq!(values(folded_finding()), [OTHER, OTHER, ""]);
    }

    #[test]
    fn programs_of_one_name_in_two_containers_are_two_causes() {
        assert!(watch::findings::find(NAMES_CULPRIT_GROUP).is_some());
        let mut names = Names::bounded();
        let mut of = |stall: &str, culprit_group: &str| {
            let finding = Finding {
                stall: stall.to_owned(),
                victim: program("worker", "/w"),
                culprits: vec![program("redis", culprit_group)],
                ..Finding::default()
            };
            names.finding(&finding)
        };
        for container in ["/one", "/two"] {
            let labels = of(NAMES_CULPRIT_GROUP, container);
            assert_eq!(labels.last(), Some(&("culprit_group", container.to_owned())));
            assert_eq!(values(labels), ["worker", "/w", "", "asleep-behind", "redis", container]);
            // Other stalls have one series, whatever the group of the culprit.
            assert_eq!(values(of("neighbour", container))[3..], ["neighbour", "redis"]);
        }
        // Further culprits are folded, and their groups with them.
        for number in 2..FINDINGS.of_one {
            assert_eq!(values(of(NAMES_CULPRIT_GROUP, &format!("/{number}"))).len(), 6);
        }
        assert_eq!(values(of(NAMES_CULPRIT_GROUP, "/late"))[3..], ["asleep-behind", OTHER]);
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
        // A group without a series of its own needs no label to explain it.
        for number in 0..2 * PROGRAMS.all {
            names.program(&program("eve", &format!("/eve/{number}")));
        }
        let late = Program { group: Some("/late".to_owned()), ..in_pod };
        assert_eq!(values(names.program(&late)), [OTHER, OTHER]);
        assert_eq!(names.groups().len(), 1);
        // The same holds for a group that was absent for long.
        names.begin(9.0);
        names.forget(5.0);
        assert!(names.groups().is_empty());
    }

    #[test]
    fn the_owners_of_a_limit_and_of_a_culprit_are_named_too() {
        let mut names = Names::bounded();
        let pod = |name: &str| Workload::Pod(Pod { name: Some(name.to_owned()), ..Pod::default() });
        let owners = ["/", "/pod", "/one"].map(|group| (group.to_owned(), pod(group)));
        let finding = |stall: &str, victim: &str, culprit: &str, facts: Opaque| Finding {
            stall: stall.to_owned(),
            victim: program("web", victim),
            culprits: vec![program("redis", culprit)],
            facts,
            workloads: BTreeMap::from(owners.clone()),
            ..Finding::default()
        };
        let of_limit = finding("cpu-quota", "/pod/web", "/pod/web", quota_of_pod());
        let asleep = finding(NAMES_CULPRIT_GROUP, "/web", "/one", Opaque::default());
        // The group of this culprit is in no label.
        let neighbour = finding("neighbour", "/web", "/", Opaque::default());
        for one in [&of_limit, &asleep, &neighbour] {
            names.finding(one);
        }
        let named = |group: &str| vec![("group", group.to_owned()), ("k8s_pod", group.to_owned())];
        assert_eq!(names.groups(), [named("/one"), named("/pod")]);
        // They are kept for as long as their findings.
        names.begin(9.0);
        names.finding(&of_limit);
        names.forget(5.0);
        assert_eq!(names.groups(), [named("/pod")]);
        // A finding without a series of its own has no limit.
        names.forget(10.0);
        for number in 0..FINDINGS.all {
            let victim = format!("/eve/{number}");
            names.finding(&finding("neighbour", &victim, "/", Opaque::default()));
        }
        assert_eq!(names.finding(&of_limit)[2], ("limit", String::new()));
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
