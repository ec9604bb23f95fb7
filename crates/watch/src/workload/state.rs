//! The names of a container and its pod, from what its engine and the kubelet keep about them.
//!
//! | kept by | file or folder | what is read |
//! |---|---|---|
//! | containerd | the bundle of its task, `config.json` | annotations of CRI, of nerdctl |
//! | CRI-O | `userdata/config.json` of the container | annotations |
//! | Docker | `config.v2.json` of the container | name, image, labels |
//! | Podman | `containers.json` and `volatile-containers.json` of its storage | names, metadata |
//! | kubelet | /var/log/containers, /var/log/pods | names of links and folders |
//!
//! Pure: turns bytes into names. A test or a fuzzer can give it any bytes.

use model::live::Engine;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The longest name that is kept, in bytes: the longest that Kubernetes allows.
const LONGEST: usize = 253;

/// The longest name of an image, in bytes.
const LONGEST_IMAGE: usize = 512;

/// The length of an image's digest, in hexadecimal digits.
const DIGEST: usize = 64;

/// Where names of one container may be.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NameSource {
    /// A file with the annotations of a container, in the format of the OCI runtime
    /// specification.
    Bundle(String),
    /// The file in which Docker describes a container.
    Docker(String),
    /// The file in which Podman describes all containers.
    Podman(String),
    /// A folder with a link for each container whose output the kubelet reads.
    Links(String),
    /// A folder with a folder for each pod of the kubelet.
    Pods(String),
}

/// The names of a container and its pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// The container.
    pub container: Option<String>,
    /// The image that it was started from.
    pub image: Option<String>,
    /// The namespace of its pod.
    pub namespace: Option<String>,
    /// Its pod.
    pub pod: Option<String>,
}

impl Names {
    /// These names, completed by the others. The name of a pod and its namespace come from one
    /// source.
    fn or(self, other: Names) -> Names {
        let pods = if self.pod.is_some() { &self } else { &other };
        Names {
            namespace: pods.namespace.clone(),
            pod: pods.pod.clone(),
            container: self.container.or(other.container),
            image: self.image.or(other.image),
        }
    }
}

/// Where the names of a container may be, the most informative place first. Paths are relative to
/// the root of the machine. The kubelet's places are only for containers in a pod.
pub fn places(engine: Option<Engine>, id: &str, in_pod: bool) -> Vec<NameSource> {
    let bundle = |folder: &str| NameSource::Bundle(format!("{folder}/{id}/config.json"));
    let containerd = |namespace: &str| {
        ["run/containerd", "run/k3s/containerd"]
            .map(|run| bundle(&format!("{run}/io.containerd.runtime.v2.task/{namespace}")))
    };
    let crio = || {
        ["run/containers/storage", "var/lib/containers/storage"].map(|storage| {
            NameSource::Bundle(format!("{storage}/overlay-containers/{id}/userdata/config.json"))
        })
    };
    let docker = || NameSource::Docker(format!("var/lib/docker/containers/{id}/config.v2.json"));
    let podman = || {
        ["containers.json", "volatile-containers.json"].map(|list| {
            NameSource::Podman(format!("var/lib/containers/storage/overlay-containers/{list}"))
        })
    };
    let mut all = Vec::new();
    match engine {
        Some(Engine::Containerd) => {
            all.extend(containerd(if in_pod { "k8s.io" } else { "default" }));
        }
        Some(Engine::CriO) => all.extend(crio()),
        Some(Engine::Docker) => all.push(docker()),
        Some(Engine::Podman) => all.extend(podman()),
        Some(Engine::Lxc | Engine::Machined) => {}
        None => {
            all.extend(containerd("k8s.io"));
            all.extend(crio());
            all.push(docker());
        }
    }
    if in_pod {
        all.push(NameSource::Links("var/log/containers".to_owned()));
        all.push(NameSource::Pods("var/log/pods".to_owned()));
    }
    all
}

/// The names of a container, from what was found at its places: the bytes of a file, or the names
/// in a folder, one per line.
pub fn names(found: &[(NameSource, Vec<u8>)], id: &str, pod_uid: Option<&str>) -> Names {
    let all = found.iter().filter_map(|(place, bytes)| match place {
        NameSource::Bundle(_) => bundle(bytes),
        NameSource::Docker(_) => docker(bytes),
        NameSource::Podman(_) => podman(bytes, id),
        NameSource::Links(_) => lines(bytes).find_map(|name| link(name, id)),
        NameSource::Pods(_) => lines(bytes).find_map(|name| pod(name, pod_uid?)),
    });
    all.fold(Names::default(), Names::or)
}

fn bundle(bytes: &[u8]) -> Option<Names> {
    #[derive(Deserialize)]
    struct Config {
        #[serde(default)]
        annotations: HashMap<String, String>,
    }
    let all = serde_json::from_slice::<Config>(bytes).ok()?.annotations;
    let of = |keys: &[&str]| keys.iter().find_map(|key| all.get(*key)).map(String::as_str);
    let image = of(&[
        "io.kubernetes.cri.image-name",
        "io.kubernetes.cri-o.ImageName",
        "io.kubernetes.cri-o.Image",
    ]);
    Some(Names {
        container: name(of(&[
            "io.kubernetes.cri.container-name",
            "io.kubernetes.container.name",
            "nerdctl/name",
        ])),
        image: image_name(image),
        namespace: name(of(&[
            "io.kubernetes.cri.sandbox-namespace",
            "io.kubernetes.pod.namespace",
        ])),
        pod: name(of(&["io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"])),
    })
}

fn docker(bytes: &[u8]) -> Option<Names> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct State {
        name: String,
        config: Config,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Config {
        #[serde(default)]
        image: String,
        labels: Option<HashMap<String, String>>,
    }
    let State { name: own, config } = serde_json::from_slice(bytes).ok()?;
    let labels = config.labels.unwrap_or_default();
    let label = |key: &str| name(labels.get(key).map(String::as_str));
    Some(Names {
        container: label("io.kubernetes.container.name")
            .or_else(|| name(Some(own.trim_start_matches('/')))),
        image: image_name(Some(&config.image)),
        namespace: label("io.kubernetes.pod.namespace"),
        pod: label("io.kubernetes.pod.name"),
    })
}

fn podman(bytes: &[u8], id: &str) -> Option<Names> {
    #[derive(Deserialize)]
    struct Stored {
        id: String,
        #[serde(default)]
        names: Vec<String>,
        #[serde(default)]
        metadata: String,
    }
    #[derive(Deserialize, Default)]
    struct Metadata {
        #[serde(default, rename = "image-name")]
        image_name: String,
    }
    let all: Vec<Stored> = serde_json::from_slice(bytes).ok()?;
    let stored = all.into_iter().find(|stored| stored.id == id)?;
    let metadata: Metadata = serde_json::from_str(&stored.metadata).unwrap_or_default();
    Some(Names {
        container: name(stored.names.first().map(String::as_str)),
        image: image_name(Some(&metadata.image_name)),
        ..Names::default()
    })
}

/// `POD_NAMESPACE_CONTAINER-ID.log`. None of the three names may contain a `_`.
fn link(link: &str, id: &str) -> Option<Names> {
    let rest = link.strip_suffix(".log")?.strip_suffix(id)?.strip_suffix('-')?;
    let mut parts = rest.splitn(3, '_');
    let mut next = || name(parts.next());
    let (pod, namespace, container) = (next()?, next()?, next()?);
    Some(Names {
        container: Some(container),
        namespace: Some(namespace),
        pod: Some(pod),
        image: None,
    })
}

/// `NAMESPACE_POD_UID`.
fn pod(folder: &str, uid: &str) -> Option<Names> {
    let (namespace, pod) = folder.strip_suffix(uid)?.strip_suffix('_')?.split_once('_')?;
    let (namespace, pod) = (name(Some(namespace))?, name(Some(pod))?);
    Some(Names { namespace: Some(namespace), pod: Some(pod), ..Names::default() })
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &str> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok())
}

/// A name that may be shown; None if it is too long, or contains what no engine allows in a name.
fn name(text: Option<&str>) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let fits = |text: &&str| (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_plain);
    text.filter(fits).map(str::to_owned)
}

/// The same for an image; None if it is only a digest.
fn image_name(text: Option<&str>) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@+".contains(&byte);
    let is_digest = |text: &str| {
        text.starts_with("sha256:")
            || text.len() == DIGEST && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let fits = |text: &&str| {
        (1..=LONGEST_IMAGE).contains(&text.len()) && text.bytes().all(is_plain) && !is_digest(text)
    };
    text.filter(fits).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "3f2a9c1d0b7e4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c";
    const UID: &str = "6f1b2c3d-1111-2222-3333-444455556666";

    fn of(place: fn(String) -> NameSource, bytes: &str) -> [String; 4] {
        let found = [(place(String::new()), bytes.as_bytes().to_vec())];
        let Names { container, image, namespace, pod } = names(&found, ID, Some(UID));
        [container, image, namespace, pod].map(|name| name.unwrap_or("-".to_owned()))
    }

    #[test]
    fn annotations_of_containerd_crio_and_nerdctl() {
        let containerd = r#"{"ociVersion": "1.1.0", "process": {"args": ["x"]}, "annotations": {
            "io.kubernetes.cri.container-name": "db", "io.kubernetes.cri.container-type": "container",
            "io.kubernetes.cri.image-name": "docker.io/library/postgres:16",
            "io.kubernetes.cri.sandbox-id": "0123", "io.kubernetes.cri.sandbox-name": "orders-0",
            "io.kubernetes.cri.sandbox-namespace": "shop", "io.kubernetes.cri.sandbox-uid": "6f1b"}}"#;
        let wanted = ["db", "docker.io/library/postgres:16", "shop", "orders-0"];
        assert_eq!(of(NameSource::Bundle, containerd), wanted);
        // The container that keeps the namespaces of a pod has no name.
        let sandbox = r#"{"annotations": {"io.kubernetes.cri.container-type": "sandbox",
            "io.kubernetes.cri.sandbox-name": "orders-0", "io.kubernetes.cri.sandbox-namespace": "shop"}}"#;
        assert_eq!(of(NameSource::Bundle, sandbox), ["-", "-", "shop", "orders-0"]);
        let crio = r#"{"annotations": {"io.kubernetes.container.name": "db",
            "io.kubernetes.cri-o.Image": "5f0c7a1e5f0c7a1e5f0c7a1e5f0c7a1e5f0c7a1e5f0c7a1e5f0c7a1e5f0c7a1e",
            "io.kubernetes.cri-o.ImageName": "quay.io/shop/db:3", "io.kubernetes.pod.name": "orders-0",
            "io.kubernetes.pod.namespace": "shop", "io.kubernetes.pod.uid": "6f1b"}}"#;
        assert_eq!(of(NameSource::Bundle, crio), ["db", "quay.io/shop/db:3", "shop", "orders-0"]);
        let nerdctl = r#"{"annotations": {"nerdctl/name": "web", "nerdctl/namespace": "default"}}"#;
        assert_eq!(of(NameSource::Bundle, nerdctl), ["web", "-", "-", "-"]);
        assert_eq!(of(NameSource::Bundle, r#"{"process": {}}"#), ["-"; 4]);
    }

    #[test]
    fn what_docker_keeps() {
        let own = r#"{"ID": "3f2a", "Name": "/web", "Image": "sha256:5f0c",
            "Config": {"Hostname": "3f2a", "Image": "nginx:1.25", "Labels": {"a": "b"}}}"#;
        assert_eq!(of(NameSource::Docker, own), ["web", "nginx:1.25", "-", "-"]);
        let of_kubernetes = r#"{"Name": "/k8s_db_orders-0_shop_6f1b_0", "Config": {"Image": "sha256:5f0c",
            "Labels": {"io.kubernetes.container.name": "db", "io.kubernetes.pod.name": "orders-0",
            "io.kubernetes.pod.namespace": "shop"}}}"#;
        assert_eq!(of(NameSource::Docker, of_kubernetes), ["db", "-", "shop", "orders-0"]);
        let bare = r#"{"Name": "/web", "Config": {"Labels": null}}"#;
        assert_eq!(of(NameSource::Docker, bare), ["web", "-", "-", "-"]);
    }

    #[test]
    fn what_podman_keeps() {
        let list = format!(
            r#"[{{"id": "0123", "names": ["other"]}}, {{"id": "{ID}", "names": ["web"], "image": "5f0c",
            "metadata": "{{\"image-name\":\"docker.io/library/nginx:latest\",\"name\":\"web\"}}"}}]"#
        );
        assert_eq!(
            of(NameSource::Podman, &list),
            ["web", "docker.io/library/nginx:latest", "-", "-"]
        );
        assert_eq!(of(NameSource::Podman, r#"[{"id": "0123", "names": ["other"]}]"#), ["-"; 4]);
    }

    #[test]
    fn what_the_kubelet_names() {
        let links = format!("x.log\norders-0_shop_db-{ID}.log\nweb-1_shop_web-0123.log\n");
        assert_eq!(of(NameSource::Links, &links), ["db", "-", "shop", "orders-0"]);
        let folders = format!("kube-system_etcd-node_0123\nshop_orders-0_{UID}\n");
        assert_eq!(of(NameSource::Pods, &folders), ["-", "-", "shop", "orders-0"]);
        assert_eq!(of(NameSource::Links, &links.replace(ID, "0123")), ["-"; 4]);
    }

    #[test]
    fn the_first_place_decides_and_others_add_what_it_lacks() {
        let sandbox = br#"{"annotations": {"io.kubernetes.cri.image-name": "a:1"}}"#.to_vec();
        let links = format!("orders-0_shop_db-{ID}.log").into_bytes();
        let found = [
            (NameSource::Bundle(String::new()), sandbox),
            (NameSource::Links(String::new()), links),
        ];
        let names = names(&found, ID, None);
        assert_eq!((names.image.as_deref(), names.pod.as_deref()), (Some("a:1"), Some("orders-0")));
    }

    #[test]
    fn names_that_no_engine_allows_are_none() {
        for bad in ["", "a b", "a\u{1b}[2J", "a\n", "..\u{2044}", &"a".repeat(LONGEST + 1)] {
            assert_eq!(name(Some(bad)), None, "{bad:?}");
        }
        assert_eq!(image_name(Some("sha256:5f0c")), None);
    }

    #[test]
    fn each_engine_is_looked_for_where_it_keeps_its_containers() {
        let of = |engine, in_pod| places(engine, ID, in_pod);
        let has = |all: &[NameSource], part: &str| {
            all.iter().any(|one| format!("{one:?}").contains(part))
        };
        assert!(has(&of(Some(Engine::Containerd), true), "v2.task/k8s.io/3f2a"));
        assert!(has(&of(Some(Engine::Containerd), false), "v2.task/default/3f2a"));
        let unknown = of(None, true);
        assert!(has(&unknown, "k8s.io") && has(&unknown, "overlay-containers"));
        assert!(has(&unknown, "docker") && has(&unknown, "var/log/pods"));
        assert!(of(Some(Engine::Lxc), false).is_empty());
        // Only the places of the kubelet tell about a pod.
        assert!(!has(&of(Some(Engine::Docker), false), "var/log"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..300), text in ".{0,99}") {
            for bytes in [bytes, text.into_bytes()] {
                use NameSource::{Bundle, Docker, Links, Podman, Pods};
                for source in [Bundle, Docker, Podman, Links, Pods] {
                    names(&[(source(String::new()), bytes.clone())], ID, Some(UID));
                }
            }
        }
    }
}
