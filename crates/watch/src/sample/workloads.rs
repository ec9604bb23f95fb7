//! The workloads of the groups in an interval: by the paths of the groups, and by what engines
//! keep about the containers that use or want most CPU time.

use crate::reader::{Answer, ContainerId, Readers, What};
use crate::tick::Tick;
use crate::workload::{Names, workload};
use host::Roots;
use model::live::{Container, Pod, Workload};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most containers that are asked about in an interval.
const MOST: usize = 8;

/// Most containers that are remembered.
const MOST_KNOWN: usize = 2_048;

/// Intervals after which a container without a name is asked about again, also if its pod is
/// known. Its engine may have been about to write the name.
const OLD: u64 = 60;

/// The same if the process that was asked about has ended meanwhile.
const SOON: u64 = 5;

/// Looks names up, and remembers them.
pub struct Workloads {
    roots: Roots,
    known: HashMap<ContainerId, Known>,
    interval: u64,
}

struct Known {
    names: Names,
    /// The interval that last contained it, and the interval from which on it is asked about
    /// again if it has no name.
    seen: u64,
    due: u64,
}

impl Workloads {
    /// For this machine.
    pub fn new(roots: &Roots) -> Self {
        Workloads { roots: roots.clone(), known: HashMap::new(), interval: 0 }
    }

    /// Adds the workloads of the groups.
    pub fn name(&mut self, tick: &mut Tick, readers: &mut Readers) {
        self.interval += 1;
        let all: BTreeMap<&str, Workload> =
            groups(tick).into_iter().filter_map(|group| Some((group, workload(group)?))).collect();
        let ids: HashMap<&str, ContainerId> =
            all.iter().filter_map(|(group, one)| Some((*group, id(one)?))).collect();
        for id in ids.values() {
            if let Some(known) = self.known.get_mut(id) {
                known.seen = self.interval;
            }
        }
        let due = wanted(tick, &ids).into_iter().filter(|(_, id)| self.is_due(id));
        for (pid, id) in due.take(MOST).collect::<Vec<_>>() {
            self.ask(pid, id, readers);
        }
        let pods = self.pods(ids.values());
        let named = all.into_iter().map(|(group, one)| {
            let names = ids.get(group).and_then(|id| self.known.get(id)).map(|known| &known.names);
            (group.to_owned(), named(one, names, &pods))
        });
        tick.workloads = named.collect();
        if self.known.len() > MOST_KNOWN {
            let now = self.interval;
            self.known.retain(|_, known| known.seen == now);
        }
    }

    fn is_due(&self, id: &ContainerId) -> bool {
        self.known
            .get(id)
            .is_none_or(|known| known.names.container.is_none() && self.interval >= known.due)
    }

    /// Asks for the names of a container. If they are not there yet, the next interval asks
    /// again.
    fn ask(&mut self, pid: u32, id: &ContainerId, readers: &mut Readers) {
        let Some(answer) = readers.ask(&self.roots, pid, What::Container(id.clone())) else {
            return;
        };
        let (names, again) = match answer {
            Answer::Names(names) => (names, OLD),
            _ => (Names::default(), SOON),
        };
        let known = Known { names, seen: self.interval, due: self.interval + again };
        self.known.insert(id.clone(), known);
    }

    /// The pods of containers whose names are known.
    fn pods<'a>(&self, ids: impl Iterator<Item = &'a ContainerId>) -> HashMap<String, Pod> {
        let pod = |id: &ContainerId| {
            let names = &self.known.get(id)?.names;
            let (uid, name) = (id.pod_uid.clone()?, names.pod.clone()?);
            let namespace = names.namespace.clone();
            Some((uid.clone(), Pod { uid: Some(uid), namespace, name: Some(name) }))
        };
        ids.filter_map(pod).collect()
    }
}

/// The groups of an interval, and the groups above them.
fn groups(tick: &Tick) -> BTreeSet<&str> {
    let lineages = tick.lineages.iter().flat_map(|(group, above)| above.iter().chain([group]));
    let memory = tick.memory.iter().map(|group| &group.group);
    let full = tick.full.values().map(|full| &full.group);
    let quotas = tick.groups.iter().map(|group| &group.group);
    lineages.chain(memory).chain(full).chain(quotas).map(String::as_str).collect()
}

/// The container of a workload; None if it has no identifier.
fn id(workload: &Workload) -> Option<ContainerId> {
    let Workload::Container(container) = workload else { return None };
    let pod_uid = container.pod.as_ref().and_then(|pod| pod.uid.clone());
    Some(ContainerId { engine: container.engine, id: container.id.clone()?, pod_uid })
}

/// The containers of an interval, each with a process in it. Those whose threads ran and were
/// runnable longest come first.
fn wanted<'a>(tick: &Tick, ids: &'a HashMap<&str, ContainerId>) -> Vec<(u32, &'a ContainerId)> {
    let mut sums: BTreeMap<&str, (u64, u32)> = BTreeMap::new();
    for thread in &tick.threads {
        let group = tick.processes.get(&thread.pid).and_then(|process| process.group.as_deref());
        let Some(group) = group.filter(|group| ids.contains_key(group)) else { continue };
        let sum = sums.entry(group).or_insert((0, thread.pid));
        sum.0 = sum.0.saturating_add(thread.ran_ns).saturating_add(thread.ready_ns);
    }
    let mut all: Vec<(u64, u32, &ContainerId)> =
        sums.into_iter().map(|(group, (ns, pid))| (ns, pid, &ids[group])).collect();
    all.sort_by_key(|(ns, pid, _)| (std::cmp::Reverse(*ns), *pid));
    all.into_iter().map(|(_, pid, id)| (pid, id)).collect()
}

/// A workload with the names that are known.
fn named(workload: Workload, names: Option<&Names>, pods: &HashMap<String, Pod>) -> Workload {
    let of_pod = |pod: Pod| {
        let known = pod.uid.as_ref().and_then(|uid| pods.get(uid)).cloned();
        known.unwrap_or(pod)
    };
    match workload {
        Workload::Pod(pod) => Workload::Pod(of_pod(pod)),
        Workload::Container(container) => Workload::Container(Container {
            name: container.name.or_else(|| names?.container.clone()),
            image: names.and_then(|names| names.image.clone()),
            pod: container.pod.map(of_pod),
            ..container
        }),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{process, second, thread};

    const ID: &str = "3f2a9c1d0b7e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c";
    const POD: &str = "/kubepods/pod6f1b";

    fn tick(group: &str) -> Tick {
        let mut tick = second();
        process(&mut tick, 7, "postgres", Some(group));
        tick.threads.push(thread(7, 5, 300));
        let above = group.rsplit_once('/').map_or("", |(above, _)| above);
        tick.lineages.insert(group.to_owned(), vec![group.to_owned(), above.to_owned()]);
        tick
    }

    /// A machine with that process, and what an engine keeps about a container.
    fn machine(path: &str, text: &str) -> testing::Tree {
        let stat = "7 (postgres) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 555 0 0";
        testing::Tree::new(&[("proc/7/stat", stat), (path, text)])
    }

    fn text(workload: &Workload) -> Option<String> {
        crate::workload::sentence(workload)
    }

    #[test]
    fn containers_and_their_pods_are_named_by_what_the_engine_keeps() {
        let path = format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json");
        let config = r#"{"annotations": {"io.kubernetes.cri.container-name": "db",
            "io.kubernetes.cri.sandbox-name": "orders-0", "io.kubernetes.cri.sandbox-namespace": "shop"}}"#;
        let tree = machine(&path, config);
        let mut workloads = Workloads::new(&Roots::at(tree.root()));
        let mut tick = tick(&format!("{POD}/{ID}"));
        workloads.name(&mut tick, &mut Readers::Here);
        let of = |group: &str| tick.workloads.get(group).and_then(text);
        assert_eq!(
            of(&format!("{POD}/{ID}")).as_deref(),
            Some("container db of pod shop/orders-0")
        );
        assert_eq!(of(POD).as_deref(), Some("pod shop/orders-0"));
        // Names that are known are not read again.
        std::fs::remove_file(tree.root().join(&path)).unwrap();
        workloads.name(&mut tick, &mut Readers::Here);
        assert_eq!(tick.workloads.get(POD).and_then(text).as_deref(), Some("pod shop/orders-0"));
    }

    /// Groups and files as they are if systemd makes the groups.
    #[test]
    fn every_engine_is_read_where_its_files_really_lie() {
        const UID: &str = "6f1b2c3d-1111-2222-3333-444455556666";
        const STATIC: &str = "0f3c9a7be1d24c58a6b0e9d8c7f6a5b4";
        let of_pod = |uid: &str, scope: &str| {
            let uid = uid.replace('-', "_");
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice/\
                 {scope}-{ID}.scope"
            )
        };
        let cri = r#"{"annotations": {"io.kubernetes.cri.container-name": "db",
            "io.kubernetes.cri.sandbox-name": "orders-0", "io.kubernetes.cri.sandbox-namespace": "shop"}}"#;
        let crio = r#"{"annotations": {"io.kubernetes.container.name": "db",
            "io.kubernetes.pod.name": "orders-0", "io.kubernetes.pod.namespace": "shop"}}"#;
        let docker = r#"{"Name": "/web", "Config": {"Image": "nginx:1"}}"#;
        let podman = format!(r#"[{{"id": "{ID}", "names": ["web"]}}]"#);
        let task = "io.containerd.runtime.v2.task";
        let stored = "overlay-containers";
        let (containerd, in_pod) =
            (of_pod(UID, "cri-containerd"), "container db of pod shop/orders-0");
        let cases = [
            (&containerd, format!("run/containerd/{task}/k8s.io/{ID}/config.json"), cri, in_pod),
            (
                &containerd,
                format!("run/k3s/containerd/{task}/k8s.io/{ID}/config.json"),
                cri,
                in_pod,
            ),
            (
                &of_pod(UID, "crio"),
                format!("run/containers/storage/{stored}/{ID}/userdata/config.json"),
                crio,
                in_pod,
            ),
            (&containerd, format!("var/log/containers/orders-0_shop_db-{ID}.log"), "", in_pod),
            (
                &containerd,
                format!("var/log/pods/shop_orders-0_{UID}/db/0.log"),
                "",
                "pod shop/orders-0",
            ),
            (
                &of_pod(STATIC, "cri-containerd"),
                format!("var/log/pods/kube-system_etcd-node1_{STATIC}/etcd/0.log"),
                "",
                "pod kube-system/etcd-node1",
            ),
            (
                &format!("/system.slice/docker-{ID}.scope"),
                format!("var/lib/docker/containers/{ID}/config.v2.json"),
                docker,
                "Docker container web",
            ),
            (
                &format!("/machine.slice/libpod-{ID}.scope/container"),
                format!("var/lib/containers/storage/{stored}/containers.json"),
                &podman,
                "/container in Podman container web",
            ),
        ];
        for (group, path, kept, wanted) in cases {
            let tree = machine(&path, kept);
            let mut tick = tick(group);
            Workloads::new(&Roots::at(tree.root())).name(&mut tick, &mut Readers::Here);
            assert_eq!(text(&tick.workloads[group]).as_deref(), Some(wanted), "{group} by {path}");
        }
    }

    #[test]
    fn a_container_of_which_nothing_is_kept_is_asked_about_seldom() {
        let tree = machine("run/none", "");
        let mut workloads = Workloads::new(&Roots::at(tree.root()));
        let group = format!("/docker/{ID}");
        let mut tick = tick(&group);
        workloads.name(&mut tick, &mut Readers::Here);
        assert_eq!(text(&tick.workloads[&group]), None);
        let id = id(&tick.workloads[&group]).unwrap();
        assert!(!workloads.is_due(&id));
        let kept = format!("var/lib/docker/containers/{ID}/config.v2.json");
        let kept = tree.root().join(kept);
        std::fs::create_dir_all(kept.parent().unwrap()).unwrap();
        std::fs::write(&kept, r#"{"Name": "/web", "Config": {"Image": "nginx:1"}}"#).unwrap();
        for _ in 0..OLD {
            workloads.name(&mut tick, &mut Readers::Here);
        }
        let named = text(&tick.workloads[&group]);
        assert_eq!(named.as_deref(), Some("Docker container web"));
    }

    #[test]
    fn a_container_of_which_the_pod_alone_is_known_is_asked_about_again() {
        let tree = machine("var/log/pods/shop_orders-0_6f1b/none", "");
        let mut workloads = Workloads::new(&Roots::at(tree.root()));
        let group = format!("{POD}/{ID}");
        let mut tick = tick(&group);
        workloads.name(&mut tick, &mut Readers::Here);
        let before = text(&tick.workloads[&group]).unwrap();
        assert!(before.contains("pod shop/orders-0") && !before.contains(" db "), "{before}");
        let config = r#"{"annotations": {"io.kubernetes.cri.container-name": "db"}}"#;
        let task = "run/containerd/io.containerd.runtime.v2.task/k8s.io";
        tree.put(&format!("{task}/{ID}/config.json"), config);
        for _ in 0..OLD {
            workloads.name(&mut tick, &mut Readers::Here);
        }
        let named = text(&tick.workloads[&group]);
        assert_eq!(named.as_deref(), Some("container db of pod shop/orders-0"));
    }

    #[test]
    fn who_used_most_is_asked_about_first() {
        let mut tick = second();
        let group = |number: u32| format!("/docker/{number:012x}");
        let mut ids = HashMap::new();
        let names: Vec<String> = (1..4).map(group).collect();
        for (pid, name) in (1..4).zip(&names) {
            process(&mut tick, pid, "web", Some(name));
            tick.threads.push(thread(pid, u64::from(pid) * 10, 0));
            ids.insert(name.as_str(), id(&workload(name).unwrap()).unwrap());
        }
        let order: Vec<u32> = wanted(&tick, &ids).into_iter().map(|(pid, _)| pid).collect();
        assert_eq!(order, [3, 2, 1]);
    }
}
