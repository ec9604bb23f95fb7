//! A workload in words.

use model::live::{Container, Engine, NomadTask, Pod, SystemdUnit, Workload};
use os::terminal::line as plain;

/// Characters of an allocation that are shown, as by Nomad itself.
const SHORT: usize = 8;

/// The name of a workload; None if it is not known.
pub fn sentence(workload: &Workload) -> Option<String> {
    let (text, below) = match workload {
        Workload::Unit(of) => (Some(unit(of)), &of.below),
        Workload::Container(of) => (container(of), &of.below),
        Workload::Pod(of) => (pod(of), &None),
        Workload::Task(of) => (Some(task(of)), &of.below),
    };
    let text = text?;
    Some(match below {
        Some(below) => format!("{} in {text}", plain(below)),
        None => text,
    })
}

/// The same with the image of a container.
pub fn with_image(workload: &Workload) -> Option<String> {
    let image = match workload {
        Workload::Container(container) => container.image.as_deref().map(short_image),
        _ => None,
    };
    let image = image.map(|image| format!(" (image {image})")).unwrap_or_default();
    Some(format!("{}{image}", sentence(workload)?))
}

fn unit(unit: &SystemdUnit) -> String {
    match unit.user {
        Some(user) => format!("{} of user {user}", plain(&unit.name)),
        None => plain(&unit.name),
    }
}

fn container(container: &Container) -> Option<String> {
    let pod = container.pod.as_ref().and_then(pod);
    match (&container.name, pod) {
        (Some(name), Some(pod)) => Some(format!("container {} of {pod}", plain(name))),
        (Some(name), None) => Some(format!("{} {}", kind(container.engine), plain(name))),
        (None, pod) => pod,
    }
}

/// An image without its registry and its digest: `postgres:16`.
fn short_image(image: &str) -> String {
    let named = image.split('@').next().unwrap_or(image);
    plain(named.rsplit('/').next().unwrap_or(named))
}

fn kind(engine: Option<Engine>) -> &'static str {
    match engine {
        Some(Engine::Docker) => "Docker container",
        Some(Engine::Podman) => "Podman container",
        Some(Engine::Lxc) => "LXC container",
        Some(Engine::Machined) => "machine",
        Some(Engine::Containerd | Engine::CriO) | None => "container",
    }
}

fn pod(pod: &Pod) -> Option<String> {
    Some(format!("pod {}/{}", plain(pod.namespace.as_deref()?), plain(pod.name.as_deref()?)))
}

fn task(task: &NomadTask) -> String {
    let allocation: String = task.allocation.chars().take(SHORT).collect();
    format!("task {} of allocation {}", plain(&task.name), plain(&allocation))
}

/// A workload of each kind, with and without the parts that may be missing.
#[cfg(any(test, feature = "testing"))]
pub fn samples() -> Vec<Workload> {
    let text = |text: &str| Some(text.to_owned());
    let pod = Pod { uid: text("6f1b"), namespace: text("shop"), name: text("orders-0") };
    let unit = |name: &str, user, below| {
        Workload::Unit(SystemdUnit { name: name.to_owned(), user, below })
    };
    let container = |engine, image, pod, below| {
        Workload::Container(Container { engine, id: None, name: text("db"), image, pod, below })
    };
    vec![
        unit("nginx.service", None, None),
        unit("nginx.service", None, text("/workers")),
        unit("editor.service", Some(1000), None),
        container(Some(Engine::Containerd), text("postgres:16"), Some(pod.clone()), None),
        container(
            Some(Engine::Docker),
            text("docker.io/library/postgres:16@sha256:5f0c"),
            None,
            None,
        ),
        container(Some(Engine::Podman), None, None, text("/container")),
        container(Some(Engine::Lxc), None, None, None),
        container(Some(Engine::Machined), None, None, None),
        container(None, None, None, None),
        Workload::Container(Container { pod: Some(pod.clone()), ..Container::default() }),
        Workload::Pod(pod),
        Workload::Task(NomadTask {
            name: "web".to_owned(),
            allocation: "6f1b2c3d-1111-2222-3333-444455556666".to_owned(),
            below: None,
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_called_what_their_own_tools_call_them() {
        let all: Vec<String> = samples().iter().map(|one| with_image(one).unwrap()).collect();
        let wanted = [
            "nginx.service",
            "/workers in nginx.service",
            "editor.service of user 1000",
            "container db of pod shop/orders-0 (image postgres:16)",
            "Docker container db (image postgres:16)",
            "/container in Podman container db",
            "LXC container db",
            "machine db",
            "container db",
            "pod shop/orders-0",
            "pod shop/orders-0",
            "task web of allocation 6f1b2c3d",
        ];
        assert_eq!(all, wanted);
    }

    #[test]
    fn what_has_no_name_is_called_nothing_and_a_name_cannot_steer_a_terminal() {
        let path = "/kubepods/pod6f1b/0123456789ab";
        let unnamed = crate::workload::workload(path).unwrap();
        assert_eq!(sentence(&unnamed), None);
        let hostile =
            SystemdUnit { name: "\u{1b}[2J.service".to_owned(), ..SystemdUnit::default() };
        assert!(!sentence(&Workload::Unit(hostile)).unwrap().contains('\u{1b}'));
    }
}
