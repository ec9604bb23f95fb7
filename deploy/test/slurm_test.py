"""Tests deploy/slurm on its own cluster: slurmctld on one host, slurmd on four, and a node that
does not exist. Runs inside the namespaces that `engines` makes."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from lab import hosts, roots, traces
from lab.checks import check, one_at_a_time, say

SLURM = Path(__file__).resolve().parent.parent / "slurm"
CONFIG = """ClusterName=lab
SlurmctldHost=ctl({controller})
AuthType=auth/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmctldPort=6817
SlurmdPort=6818
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmdTimeout=20
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# Files that Slurm and munge write, and the locks of docs/production.md, which go with the next
# boot.
KEPT = ["/var/spool/slurm", "/var/log/slurm", "/var/log/munged.log", "/run/tailback"]
# $1 is the daemon of Slurm, the other arguments are its options.
START = """set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /etc/slurm /var/spool/$1 /run/munge /var/log /var/lib/munge
cp /shared/slurm.conf /etc/slurm/
cp /shared/munge.key /etc/munge.key
chmod 400 /etc/munge.key
# Links that Debian's packages make when they are configured.
for name in slurmctld slurmd slurmstepd; do
    [ ! -e /usr/sbin/$name-wlm ] || ln -sf $name-wlm /usr/sbin/$name
done
munged --force --key-file=/etc/munge.key --socket=/run/munge/munge.socket.2 \\
    --pid-file=/run/munged.pid --log-file=/var/log/munged.log --seed-file=/var/lib/munge/seed
"$@"
"""


class Cluster:
    """Hosts with Slurm on them."""

    def __init__(self, lab, shared, names, absent):
        self.lab, self.shared = lab, shared
        self.controller = hosts.Host(lab, 10, "ctl")
        self.nodes = [hosts.Host(lab, 11 + n, name) for n, name in enumerate(names)]
        for host in [self.controller, *self.nodes]:
            host.shared = {"shared": shared}
        lab.start([self.controller, *self.nodes], absent=absent)
        self.configure()

    def configure(self):
        """Writes the same files to all hosts, then starts the daemons."""
        addresses = {name: at for name, at in self.lab.addresses().items() if name != "ctl"}
        nodes = "\n".join(f"NodeName={name} NodeAddr={at} CPUs=2 State=UNKNOWN"
                          for name, at in addresses.items())
        config = CONFIG.format(controller=self.controller.address, nodes=nodes)
        (self.shared / "slurm.conf").write_text(config)
        key = self.shared / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for host in [self.controller, *self.nodes]:
            daemon = "slurmctld" if host is self.controller else f"slurmd -N {host.name}"
            host.ssh(f"sudo sh -s {daemon}", START)
        key.unlink()
        deadline = time.monotonic() + 60
        while self.states().count("idle") < len(self.nodes):
            check(time.monotonic() < deadline, f"all nodes are idle: {self.states()}")
            time.sleep(0.5)

    def states(self):
        """The state of each node according to Slurm."""
        return self.controller.ssh("sudo sinfo -h -N -o %T", check=False).split()

    def census(self, results, more=""):
        """Starts a census on the controller, as root."""
        variables = ("TAILBACK=/shared/tailback TAILBACK_SCENARIOS=mmap-lock TAILBACK_BUDGET=20s "
                     f"TAILBACK_JITTER=1s TAILBACK_RACKS=/shared/racks {more}")
        command = f"sudo env {variables} /shared/slurm/census /shared/{results}"
        return subprocess.Popen(["ssh", "-F", str(self.lab.ssh_config), "ctl", command],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def answers(self, results):
        """The files of answers, by node."""
        found = (self.shared / results / "answers").glob("*.jsonl")
        return {path.name.split("-")[0]: path for path in found}


def whole(cluster, results):
    """Runs a census to its end. Returns its output."""
    began = time.monotonic()
    process = cluster.census(results)
    out, _ = process.communicate(timeout=600)
    print(out, f"   {time.monotonic() - began:.0f} s", flush=True)
    check(process.returncode in (0, 1, 4), f"the census ends with 0, 1 or 4: {process.returncode}")
    wanted = sorted(host.name for host in cluster.nodes)
    check(sorted(cluster.answers(results)) == wanted, f"all nodes answer: {out}")
    check("1 unreachable" in out, f"the absent node is counted: {out}")
    return out


def broken_off(cluster, results):
    """Kills the census after the first answer. Slurm continues with the jobs that it has."""
    process = cluster.census(results)
    deadline = time.monotonic() + 180
    while not cluster.answers(results):
        if process.poll() is not None:
            logs = [log.read_text() for log in (cluster.shared / results).glob("*.log")]
            check(False, f"a node answers: {process.stdout.read()} {logs}")
        check(time.monotonic() < deadline, f"a node answers: {cluster.states()}")
        time.sleep(0.2)
    cluster.controller.ssh("sudo pkill -KILL -f /shared/slurm/census", check=False)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return set(cluster.answers(results))


def ended(cluster, results):
    """Ends the census with TERM while a node is measured, as Ctrl-C and a time limit do. The census
    cancels its jobs, and a check that this interrupts gives no answer."""
    process = cluster.census(results)
    deadline = time.monotonic() + 180
    while "allocated" not in cluster.states():
        check(process.poll() is None, "the census waits for its jobs")
        check(time.monotonic() < deadline, f"a node is measured: {cluster.states()}")
        time.sleep(0.2)
    # The jitter is 1 s. Then the check measures for up to 20 s.
    time.sleep(6)
    cluster.controller.ssh("sudo pkill -TERM -f /shared/slurm/census", check=False)
    process.communicate(timeout=60)
    deadline = time.monotonic() + 120
    while jobs := cluster.controller.ssh("sudo squeue -h", check=False).strip():
        check(time.monotonic() < deadline, f"the jobs are cancelled: {jobs}")
        time.sleep(0.5)
    complete(cluster, results)
    return set(cluster.answers(results))


def complete(cluster, results):
    """Checks that no answer is of an interrupted check."""
    for path in cluster.answers(results).values():
        found = [json.loads(line)["progress"] for line in path.read_text().splitlines()]
        check(found and "interrupted" not in found, f"{path.name} is complete: {found}")


def nothing_left(cluster, before, when):
    """Checks that every node is as before, except for Slurm's own files and tailback's lock."""
    for host in cluster.nodes:
        found = [line for line in traces.differences(before[host.name], traces.of(host))
                 if not any(part in line for part in KEPT)]
        check(not found, f"nothing is left on {host.name} {when}: {found[:10]}")
    say(f"nothing is left on any node {when}")


def main(folder, cache, binary):
    """Runs the whole test."""
    shared = folder / "shared"
    shared.mkdir()
    shutil.copytree(SLURM, shared / "slurm")
    shutil.copy(binary, shared / "tailback")
    names = [f"web{n}" for n in range(1, 5)]
    (shared / "racks").write_text("".join(f"{name} lab\n" for name in names))
    lab = hosts.Lab(folder, roots.with_slurm(cache))
    began = time.monotonic()
    cluster = Cluster(lab, shared, names, ["gone1"])
    say(f"slurmctld and {len(names)} slurmd are up after {time.monotonic() - began:.0f} s")
    before = {host.name: traces.of(host) for host in cluster.nodes}
    answered = broken_off(cluster, "first")
    say(f"broken off after {sorted(answered)}")
    whole(cluster, "first")
    files = list((shared / "first/answers").glob("*.jsonl"))
    check(len(files) == len(names), f"no node is measured twice: {files}")
    one_at_a_time(files)
    nothing_left(cluster, before, "by a census that broke off and went on")
    answered = ended(cluster, "second")
    say(f"ended after {sorted(answered)}; no interrupted check is an answer")
    whole(cluster, "second")
    complete(cluster, "second")
    nothing_left(cluster, before, "by a census that was ended and went on")
    lines = [json.loads(file.read_text().splitlines()[0]) for file in files]
    say("verdicts: " + ", ".join(f"{one['host']['name']} {one['verdict']['state']}"
                                 for one in lines))
