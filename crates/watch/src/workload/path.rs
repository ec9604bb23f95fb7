//! The workload of a control group, according to its path.
//!
//! A user may make groups below those that are delegated to the user, and name them as an engine
//! names those of its containers. So the first part of a path that names a workload decides. What
//! is below it is only repeated.

use model::live::{Container, Engine, NomadTask, Pod, SystemdUnit, Workload};

/// Length of a text that counts as the identifier of a container, in characters.
const SHORTEST_ID: usize = 12;
const LONGEST_ID: usize = 64;

/// The longest identifier of a pod, in characters.
const LONGEST_UID: usize = 64;

/// Suffixes of units of systemd, other than slices.
const UNITS: [&str; 5] = [".service", ".scope", ".socket", ".mount", ".swap"];

/// Suffix of a unit that only holds other units.
const SLICE: &str = ".slice";

/// Where systemd keeps the programs of users, the containers and virtual machines, and Nomad's
/// jobs.
const USERS: &str = "user.slice";
const MACHINES: &str = "machine.slice";
const NOMAD: &str = "nomad.slice";

/// The name of every group of the kubelet begins with this or contains it.
const KUBELET: &str = "kubepods";

/// Prefixes that engines put before the identifier of a container to name its group.
const ENGINES: [(&str, Engine); 8] = [
    ("cri-containerd-", Engine::Containerd),
    ("nerdctl-", Engine::Containerd),
    ("crio-conmon-", Engine::CriO),
    ("crio-", Engine::CriO),
    ("docker-", Engine::Docker),
    ("libpod-payload-", Engine::Podman),
    ("libpod-conmon-", Engine::Podman),
    ("libpod-", Engine::Podman),
];

/// Groups below which engines name groups by the identifier alone.
const PARENTS: [(&str, Engine); 2] = [("docker", Engine::Docker), ("default", Engine::Containerd)];

/// The workload of a group, as far as its path tells; None if the path does not tell.
pub fn workload(path: &str) -> Option<Workload> {
    // In a control group namespace, the groups of others begin with `..`.
    let parts: Vec<&str> = path.split('/').filter(|part| !["", ".."].contains(part)).collect();
    let is_cut = path.starts_with("/..");
    match *parts.first()? {
        USERS => return of_user(&parts),
        NOMAD => {
            let task = parts.iter().enumerate().find_map(|(at, part)| task(part, &parts[at + 1..]));
            return task.map(Workload::Task).or_else(|| unit(&parts, None));
        }
        _ => {}
    }
    let mut pod = None;
    for (at, part) in parts.iter().enumerate() {
        let (above, below) = (&parts[..at], &parts[at + 1..]);
        if let Some(uid) = pod_uid(part, above, is_cut) {
            pod = Some(Pod { uid: Some(uid), ..Pod::default() });
        } else if let Some(container) = container(part, above, pod.is_some()) {
            let below = joined(below);
            return Some(Workload::Container(Container { pod, below, ..container }));
        } else if is_unit(part) {
            break;
        }
    }
    pod.map(Workload::Pod).or_else(|| unit(&parts, None))
}

/// The container whose group this part of a path is.
fn container(part: &str, above: &[&str], in_pod: bool) -> Option<Container> {
    let name = part.strip_suffix(".scope").unwrap_or(part);
    let by_id = |engine, id: &str| {
        let id = Some(id.to_owned()).filter(|id| is_id(id));
        id.map(|id| Container { engine, id: Some(id), ..Container::default() })
    };
    let of_engine = ENGINES.iter().find_map(|(prefix, engine)| {
        name.strip_prefix(prefix).and_then(|id| by_id(Some(*engine), id))
    });
    let of_parent = || match above {
        _ if in_pod => by_id(None, part),
        [parent] => {
            let engine = PARENTS.iter().find(|(name, _)| name == parent).map(|(_, engine)| *engine);
            engine.and_then(|engine| by_id(Some(engine), part))
        }
        _ => None,
    };
    of_engine.or_else(of_parent).or_else(|| named(part, above))
}

/// A container whose group has its name.
fn named(part: &str, above: &[&str]) -> Option<Container> {
    let (engine, name) = match above {
        [] => (Engine::Lxc, part.strip_prefix("lxc.payload.")?.to_owned()),
        ["lxc"] => (Engine::Lxc, part.to_owned()),
        [MACHINES] => {
            let scope = part.strip_prefix("machine-").and_then(|rest| rest.strip_suffix(".scope"));
            let service = || part.strip_prefix("systemd-nspawn@")?.strip_suffix(".service");
            (Engine::Machined, unescaped(scope.or_else(service)?))
        }
        _ => return None,
    };
    Some(Container { engine: Some(engine), name: Some(name), ..Container::default() })
}

/// The identifier of the pod whose group this is. The group is `pod6f1b..` below the kubelet's
/// group. If systemd makes the groups, it is `kubepods-burstable-pod6f1b...slice`, with `_` for
/// each `-`. The kubelet's group may be cut off the path.
fn pod_uid(part: &str, above: &[&str], is_cut: bool) -> Option<String> {
    let uid = match part.strip_suffix(SLICE) {
        Some(slice) => {
            let (before, uid) = slice.rsplit_once("-pod")?;
            before.contains(KUBELET).then(|| uid.replace('_', "-"))?
        }
        None => {
            let uid = part.strip_prefix("pod")?;
            let is_below = above.iter().any(|group| group.contains(KUBELET));
            (is_below || is_cut && above.is_empty()).then(|| uid.to_owned())?
        }
    };
    let is_plain = uid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_plain && (1..=LONGEST_UID).contains(&uid.len())).then_some(uid)
}

/// `ALLOCATION.TASK.scope`, if the allocation is a UUID.
fn task(part: &str, below: &[&str]) -> Option<NomadTask> {
    let (allocation, name) = part.strip_suffix(".scope")?.split_once('.')?;
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_uuid = allocation.len() == 36 && allocation.split('-').all(is_hex);
    let (name, allocation) = (name.to_owned(), allocation.to_owned());
    (is_uuid && !name.is_empty()).then(|| NomadTask { name, allocation, below: joined(below) })
}

/// What a user runs, by `user-1000.slice`: a session, a unit of the user, or the manager of
/// these.
fn of_user(parts: &[&str]) -> Option<Workload> {
    let uid = parts.get(1).and_then(|slice| slice.strip_prefix("user-")?.strip_suffix(SLICE));
    let Some(user) = uid.and_then(|uid| uid.parse().ok()) else { return unit(parts, None) };
    let own = parts.get(3..).filter(|own| own.iter().any(|part| is_unit(part)));
    unit(own.unwrap_or(parts), Some(user))
}

/// The first unit that is no slice, or else the last slice; None if the path does not begin with
/// a unit.
fn unit(parts: &[&str], user: Option<u32>) -> Option<Workload> {
    let is_any = |part: &&str| part.ends_with(SLICE) || is_unit(part);
    let units = parts.iter().take_while(|part| is_any(part)).count();
    let first = parts[..units].iter().position(|part| is_unit(part));
    let at = first.or_else(|| units.checked_sub(1))?;
    let name = unescaped(parts[at]);
    Some(Workload::Unit(SystemdUnit { name, user, below: joined(&parts[at + 1..]) }))
}

fn is_unit(part: &str) -> bool {
    UNITS.iter().any(|suffix| part.ends_with(suffix))
}

fn is_id(id: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (SHORTEST_ID..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_hex)
}

/// A path of these parts; None without parts.
fn joined(parts: &[&str]) -> Option<String> {
    (!parts.is_empty()).then(|| format!("/{}", parts.join("/")))
}

/// A name without the escapes (`\x2d`) that systemd writes for characters with a meaning in unit
/// names.
fn unescaped(name: &str) -> String {
    let mut text = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let code = behind.strip_prefix(b"x").and_then(|hex| hex.get(..2)).filter(|_| byte == b'\\');
        let code = code.and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(code) => {
                text.push(code);
                rest = &rest[4..];
            }
            None => {
                text.push(byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "3f2a9c1d0b7e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c";
    const UID: &str = "6f1b2c3d-1111-2222-3333-444455556666";

    /// In a few words: the kind, the name, and what is below.
    fn of(path: &str) -> String {
        let path = path.replace("UID", UID).replace("ID", ID);
        let below = |below: Option<String>| below.map(|it| format!(" +{it}")).unwrap_or_default();
        match workload(&path) {
            None => "none".to_owned(),
            Some(Workload::Unit(unit)) => {
                let user = unit.user.map(|user| format!(" of {user}")).unwrap_or_default();
                format!("{}{user}{}", unit.name, below(unit.below))
            }
            Some(Workload::Container(one)) => {
                let engine = one.engine.map_or("-".to_owned(), |engine| format!("{engine:?}"));
                let by = one.name.or(one.id.map(|id| {
                    assert_eq!(id, ID);
                    "ID".to_owned()
                }));
                let pod = one.pod.map_or("", |pod| {
                    assert_eq!(pod.uid.as_deref(), Some(UID));
                    " in pod"
                });
                format!("{engine} {}{pod}{}", by.unwrap(), below(one.below))
            }
            Some(Workload::Pod(pod)) => format!("pod {}", pod.uid.unwrap()),
            Some(Workload::Task(task)) => {
                format!("{} of {}{}", task.name, task.allocation, below(task.below))
            }
        }
    }

    #[test]
    fn groups_of_the_kubelet_name_pod_and_container() {
        let uid = UID.replace('-', "_");
        let slice =
            format!("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice");
        let leaf = |leaf: &str| of(&format!("{slice}/{leaf}"));
        assert_eq!(leaf("cri-containerd-ID.scope"), "Containerd ID in pod");
        assert_eq!(leaf("crio-ID.scope"), "CriO ID in pod");
        assert_eq!(leaf("crio-ID.scope/container"), "CriO ID in pod +/container");
        assert_eq!(leaf("docker-ID.scope/init.scope"), "Docker ID in pod +/init.scope");
        assert_eq!(of(&slice), format!("pod {UID}"));
        assert_eq!(of("/kubepods/besteffort/podUID/ID"), "- ID in pod");
        assert_eq!(of("/kubepods/podUID"), format!("pod {UID}"));
        let guaranteed = format!("/kubepods.slice/kubepods-pod{uid}.slice/crio-ID.scope");
        assert_eq!(of(&guaranteed), "CriO ID in pod");
        // The kubelet below a group of its own, as with kind.
        let below = format!(
            "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{uid}.slice\
             /cri-containerd-ID.scope"
        );
        assert_eq!(of(&below), "Containerd ID in pod");
        assert_eq!(of("/kubepods.slice"), "kubepods.slice");
        assert_eq!(of("/kubepods"), "none");
    }

    #[test]
    fn groups_outside_of_a_control_group_namespace_are_named_too() {
        assert_eq!(of("/../../podUID/ID"), "- ID in pod");
        let uid = UID.replace('-', "_");
        let slice = format!("/../kubepods-burstable-pod{uid}.slice/cri-containerd-ID.scope");
        assert_eq!(of(&slice), "Containerd ID in pod");
        assert_eq!(of("/../../../system.slice/nginx.service"), "nginx.service");
        assert_eq!(of("/.."), "none");
    }

    #[test]
    fn groups_of_engines_name_containers() {
        assert_eq!(of("/system.slice/docker-ID.scope"), "Docker ID");
        assert_eq!(of("/docker/ID"), "Docker ID");
        assert_eq!(of("/docker/ID/docker/1234567890ab"), "Docker ID +/docker/1234567890ab");
        assert_eq!(of("/machine.slice/libpod-ID.scope/container"), "Podman ID +/container");
        let in_pod = "/machine.slice/machine-libpod_pod_ID.slice/libpod-ID.scope";
        assert_eq!(of(in_pod), "Podman ID");
        assert_eq!(of("/libpod_parent/libpod-ID"), "Podman ID");
        assert_eq!(of("/system.slice/nerdctl-ID.scope"), "Containerd ID");
        assert_eq!(of("/default/ID"), "Containerd ID");
        assert_eq!(of("/lxc.payload.web/init.scope"), "Lxc web +/init.scope");
        assert_eq!(of("/lxc/101/ns"), "Lxc 101 +/ns");
        assert_eq!(of("/machine.slice/machine-my\\x2dweb.scope"), "Machined my-web");
        assert_eq!(
            of("/machine.slice/systemd-nspawn@web.service/payload"),
            "Machined web +/payload"
        );
        assert_eq!(of("/machine.slice/machine-qemu\\x2d1\\x2dwin.scope"), "Machined qemu-1-win");
    }

    #[test]
    fn groups_of_systemd_name_units() {
        assert_eq!(of("/system.slice/nginx.service"), "nginx.service");
        assert_eq!(of("/system.slice/nginx.service/workers"), "nginx.service +/workers");
        assert_eq!(of("/system.slice/system-getty.slice/getty@tty1.service"), "getty@tty1.service");
        assert_eq!(of("/system.slice"), "system.slice");
        assert_eq!(of("/init.scope"), "init.scope");
        assert_eq!(of("/user.slice/user-1000.slice/session-3.scope"), "session-3.scope of 1000");
        let manager = "/user.slice/user-1000.slice/user@1000.service";
        assert_eq!(of(manager), "user@1000.service of 1000");
        let own = format!("{manager}/app.slice/editor.service");
        assert_eq!(of(&own), "editor.service of 1000");
        assert_eq!(of("/user.slice/user-1000.slice"), "user-1000.slice of 1000");
        assert_eq!(of("/user.slice"), "user.slice");
        assert_eq!(of("/system.slice/a\\x2db.service"), "a-b.service");
    }

    #[test]
    fn groups_of_nomad_name_tasks() {
        let of = |rest: &str| of(&format!("/nomad.slice/share.slice/{rest}"));
        assert_eq!(of(&format!("{UID}.web.scope")), format!("web of {UID}"));
        assert_eq!(of(&format!("{UID}.web.scope/a")), format!("web of {UID} +/a"));
        assert_eq!(of("web.scope"), "web.scope");
    }

    #[test]
    fn what_a_user_or_a_service_calls_its_groups_names_no_container() {
        let rootless = "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope";
        assert!(of(rootless).starts_with("libpod-3f2a"), "{}", of(rootless));
        let service = "/system.slice/evil.service/kubepods/podUID/ID";
        assert!(of(service).starts_with("evil.service +/kubepods/"), "{}", of(service));
        let within = "/docker/ID/kubepods/podUID/cri-containerd-ID.scope";
        assert!(of(within).starts_with("Docker ID +/kubepods/"), "{}", of(within));
    }

    #[test]
    fn what_is_no_identifier_is_none() {
        for path in
            ["/docker/web", "/build", "/", "", "/default/..", "/kubepods/pod/x", "/a/docker/ID"]
        {
            assert_eq!(of(path), "none", "{path}");
        }
        assert_eq!(of("/system.slice/docker-web.scope"), "docker-web.scope");
        let hostile = workload("/kubepods/pod..%2f/0123456789ab");
        assert_eq!(hostile, None);
    }

    proptest! {
        #[test]
        fn any_path_is_taken(path in "[/a-z.\\\\x0-9-]{0,80}|(/?(user.slice|kubepods|lxc|pod1|docker-0123456789abcdef.scope|\\\\x2)){0,6}") {
            if let Some(Workload::Container(Container { id: Some(id), .. })) = workload(&path) {
                prop_assert!(is_id(&id));
            }
        }
    }
}
