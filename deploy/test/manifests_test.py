"""Checks deploy/kubernetes and deploy/systemd with their checkers, and tries the rights of each
manifest: tailback runs in a root with nothing else, with that user and those privileges. No
cluster runs here, so the manifests themselves are not run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from lab.checks import check, say

DEPLOY = Path(__file__).resolve().parent.parent
KUBERNETES = DEPLOY / "kubernetes"
FOLDERS = ["job", "nodes", "watch-service", *(f"overlays/{name}" for name in
                             ["job-quota", "nodes-quota", "nodes-volume", "nodes-watch",
                              "nodes-watch-processes"])]
# The capabilities that a manifest may add, by the end of the kustomization's name.
CAPABILITIES = {"quota": {"SETUID", "SETGID", "KILL", "SYS_PTRACE"}, "watch": {"BPF", "PERFMON"},
                "service": {"BPF", "PERFMON"},
                "watch-processes": {"BPF", "PERFMON", "SYS_PTRACE"}}
# The folders of the node that it may mount, likewise. The node's root trusts its /run/tailback.
OF_WATCH = {"/var/log/containers", "/sys/fs/cgroup"}
MOUNTS = {"quota": {"/sys/fs/cgroup", "/run/tailback-pods"}, "watch": OF_WATCH,
          "watch-processes": OF_WATCH, "service": OF_WATCH}
# The highest exposure that systemd-analyze may report, of 10.
EXPOSURE = 4.0


def run(*words, **more):
    """Runs a program and captures its output."""
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, **more)


def rendered(folder, target):
    """The manifests of a kustomization, or None without kubectl."""
    if not shutil.which("kubectl"):
        return None
    done = run("kubectl", "kustomize", KUBERNETES / folder)
    check(done.returncode == 0, f"kustomize {folder}: {done.stderr}")
    file = target / (folder.replace("/", "-") + ".yaml")
    file.write_text(done.stdout)
    return file


def container_of(file):
    """The settings of the pod, the container that measures, and its options."""
    found = {one["kind"]: one for one in yaml.safe_load_all(file.read_text())}
    pod = (found.get("Job") or found["DaemonSet"])["spec"]["template"]["spec"]
    containers = pod.get("initContainers", []) + pod["containers"]
    measuring = next(one for one in containers if one["name"] == "tailback")
    return pod, measuring, found.get("ConfigMap", {}).get("data", {})


def expanded(args, values):
    """Expands arguments as Kubernetes does."""
    for name, value in values.items():
        args = [arg.replace(f"$({name})", value) for arg in args]
    return args


def in_scratch(folder, binary, pod, container, options):
    """Runs a container's arguments with its rights. Returns its output."""
    values = options | {"NODE_NAME": "node1", "TAILBACK_BUDGET": "8s", "TAILBACK_JITTER": "1s"}
    args = [arg.replace("--for=60s", "--for=3s") for arg in container["args"]]
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    host = {mounts[one["name"]]: one["hostPath"]["path"] for one in pod["volumes"]
            if "hostPath" in one}
    wanted = {"root": str(folder), "binary": str(binary), "args": expanded(args, values),
              "rights": container["securityContext"], "host": host,
              "environment": {one["name"]: one["value"] for one in container["env"]
                              if "value" in one}}
    words = ["unshare", "--mount", "--fork", "--kill-child", sys.executable,
             str(Path(__file__).parent / "lab/container.py"), json.dumps(wanted)]
    # A container has its own PID namespace, unless it asks for the node's.
    if not pod.get("hostPID"):
        words[1:1] = ["--pid"]
    return run(*words, timeout=300)


def confined(name, file):
    """Checks that a manifest takes no more of a node than the tables above allow."""
    kind = name.partition("-")[2]
    pod, measuring, _ = container_of(file)
    for one in pod.get("initContainers", []) + pod["containers"]:
        rights = one["securityContext"]
        added = set(rights["capabilities"].get("add", []))
        allowed = CAPABILITIES.get(kind, set()) if one is measuring else set()
        check(rights["capabilities"]["drop"] == ["ALL"], f"{name}: all capabilities are dropped")
        check(added == allowed, f"{name}: {added} is added to no capability")
        check(rights["readOnlyRootFilesystem"], f"{name}: a root that cannot be written")
        check(not rights["allowPrivilegeEscalation"], f"{name}: nothing is gained by a program")
        check(rights["seccompProfile"] == {"type": "RuntimeDefault"}, f"{name}: seccomp")
        traces = one is measuring and kind == "watch-processes"
        check(rights.get("appArmorProfile") == ({"type": "Unconfined"} if traces else None),
              f"{name}: AppArmor")
        check(not rights.get("privileged"), f"{name}: not privileged")
        limit = one["resources"]["limits"]["memory"]
        check(limit not in {f"{size}Mi" for size in range(12)}, f"{name}: CRI-O refuses {limit}")
        check(rights["runAsUser"] != 0 or kind in CAPABILITIES, f"{name}: not root")
    of_node = {one["hostPath"]["path"] for one in pod["volumes"] if "hostPath" in one}
    check(of_node == MOUNTS.get(kind, set()), f"{name} mounts {of_node} of the node")
    shared = {key for key in ["hostPID", "hostIPC", "hostNetwork"] if pod.get(key)}
    wanted = {"hostPID"} if kind.startswith("watch") or kind == "service" else set()
    check(shared == wanted, f"{name} shares {shared} with the node")


def scraped_once():
    """Checks that scrape.pods.yml finds the pods of the service, and that no annotation makes the
    usual job for pods scrape them too: each stall would give two alerts."""
    text = (KUBERNETES / "watch-service/daemonset.yaml").read_text()
    pod = yaml.safe_load(text)["spec"]["template"]["metadata"]
    check("annotations" not in pod, f"watch-service: annotations {pod.get('annotations')}")
    config = yaml.safe_load((DEPLOY / "prometheus/scrape.pods.yml").read_text())
    keep = next(one for one in config["scrape_configs"][0]["relabel_configs"]
                if one.get("action") == "keep")
    check(keep["source_labels"] == ["__meta_kubernetes_pod_label_app_kubernetes_io_name"]
          and keep["regex"] == pod["labels"]["app.kubernetes.io/name"],
          f"watch-service: no pod has the label of {keep}")
    say("watch-service: one job scrapes its pods")


def kubernetes(folder, binary):
    """Checks that the manifests are valid, and that their rights suffice."""
    if rendered("job", folder) is None:
        print("NOT CHECKED: no kubectl here, which puts the manifests together")
        return
    for name in FOLDERS:
        file = rendered(name, folder)
        done = run("kubernetes-validate", "--strict", file)
        check(done.returncode == 0, f"{name}: {done.stdout}{done.stderr}")
        confined(name, file)
    say(f"kubernetes-validate finds nothing in {len(FOLDERS)} kustomizations")
    say("none takes more of a node than it needs")
    for name in ["job", "overlays/job-quota", "overlays/nodes-watch",
                 "overlays/nodes-watch-processes"]:
        pod, container, options = container_of(rendered(name, folder))
        done = in_scratch(folder / "scratch", binary, pod, container, options)
        check(done.returncode == 0, f"{name} ends with 0: {done.returncode} {done.stderr}")
        briefs = [json.loads(line) for line in done.stdout.splitlines()]
        states = {brief["scenario"]: brief["verdict"]["state"] for brief in briefs}
        check(briefs and "skipped" not in states.values(), f"{name} skips nothing: {states}")
        check(all(brief["host"]["name"] == "node1" for brief in briefs), f"{name}: the node's name")
        say(f"{name}: its privileges suffice for {', '.join(states)}")
    pod, container, options = container_of(rendered("watch-service", folder))
    # Only the lines of --json name the sources of the measurement.
    words = [word.replace(":9964", ":0") for word in container["args"] if word != "--incidents"]
    container["args"] = [*words, "--json", "--for=3s"]
    done = in_scratch(folder / "scratch", binary, pod, container, options)
    check(done.returncode in [0, 1], f"watch-service: {done.returncode} {done.stderr}")
    source = json.loads(done.stdout.splitlines()[-1])["live"]["sources"][0]
    check(source["source"] == "scheduler" and not source.get("missing"), f"it measures: {source}")
    check("metrics: http://0.0.0.0:" in done.stderr, f"it listens: {done.stderr}")
    say("watch-service: its privileges suffice")


def systemd(folder, binary):
    """Checks that the units are valid and confined."""
    units = folder / "units"
    shutil.copytree(DEPLOY / "systemd", units)
    environment = os.environ | {"SYSTEMD_LOG_LEVEL": "warning"}
    for name in ["tailback-census", "tailback-watch"]:
        service = units / f"{name}.service"
        # The manual and the binary are not installed here.
        service.write_text(service.read_text().replace("/usr/bin/tailback", str(binary)))
        done = run("systemd-analyze", "verify", "--man=no", *sorted(units.glob(f"{name}.*")),
                   env=environment)
        check(done.returncode == 0 and not done.stderr, f"systemd-analyze verify: {done.stderr}")
        done = run("systemd-analyze", "security", "--offline=true",
                   f"--threshold={EXPOSURE * 10:.0f}", service)
        check(done.returncode == 0, f"exposure is at most {EXPOSURE}: {done.stdout[-300:]}")
        say("systemd-analyze: " + done.stdout.strip().splitlines()[-1].removeprefix("→ "))


def main(folder, _cache, binary):
    """Runs the whole test."""
    scraped_once()
    kubernetes(folder, binary)
    systemd(folder, binary)
