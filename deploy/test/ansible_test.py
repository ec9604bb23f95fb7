"""Tests deploy/ansible on its own hosts: six in namespaces, two guests with other kernels, and one
that does not exist. Runs inside the namespaces that `engines` makes."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from lab import hosts, traces
from lab.checks import check, one_at_a_time, say, summary

ANSIBLE = Path(__file__).resolve().parent.parent / "ansible"
# Up to Linux 6.17 a reader with a CPU limit keeps the lock while it is throttled.
PARAMETERS = {"reader-quota": "10ms/100ms", "busy": 4, "nice": 0, "hang-after": "100ms"}
RUN = "first"


class Launcher:
    """ansible-playbook with the inventory of a lab."""

    def __init__(self, lab, binary):
        self.lab = lab
        self.library(binary)
        self.results = lab.folder / "fleet"
        self.inventory = lab.folder / "inventory.json"
        self.variables = lab.folder / "variables.json"
        common = {"tailback_binary": str(binary), "tailback_results": str(self.results),
                  "tailback_scenarios": ["mmap-lock"], "tailback_parameters": PARAMETERS,
                  "tailback_jitter": "2s"}
        self.variables.write_text(json.dumps(common))
        self.environment = os.environ | {
            "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LIBRARY": str(lab.folder / "library"), "HOME": str(lab.folder),
            "ANSIBLE_SSH_ARGS": f"-F {lab.ssh_config} -o ControlMaster=auto -o ControlPersist=10s "
                                "-o ServerAliveInterval=10 -o ServerAliveCountMax=6",
            "ANSIBLE_LOCALHOST_WARNING": "False", "PYTHONDONTWRITEBYTECODE": "1"}

    def library(self, binary):
        """The folder with the module under its name."""
        folder = self.lab.folder / "library"
        folder.mkdir()
        (folder / "tailback").symlink_to(binary)

    def write_inventory(self, budgets):
        """Writes all hosts as one rack, because they share two CPUs."""
        found = {}
        for name in self.lab.addresses():
            found[name] = {"tailback_rack": "lab", "tailback_budget": budgets.get(name, "60s")}
        self.inventory.write_text(json.dumps({"all": {"hosts": found}}))

    def start(self, *more, run=RUN):
        """Starts a run. Its output goes to a file."""
        words = ["ansible-playbook", "-i", str(self.inventory),
                 "-e", f"@{self.variables}", "-e", f"tailback_run={run}",
                 str(ANSIBLE / "census.yml"), *more]
        with open(self.lab.folder / "ansible.log", "w") as log:
            return subprocess.Popen(words, env=self.environment, stdout=log, stderr=log,
                                    stdin=subprocess.DEVNULL, cwd=ANSIBLE, start_new_session=True)

    def output(self):
        """The output of the last run."""
        return (self.lab.folder / "ansible.log").read_text()

    def run(self, *more, run=RUN):
        """Runs it to the end. Returns its summary by host."""
        began = time.monotonic()
        process = self.start(*more, run=run)
        code = process.wait()
        print(f"    {time.monotonic() - began:.0f} s", flush=True)
        recap = summary(self.output())
        if not recap or code not in (0, 4):
            print(self.output()[-6000:])
        # 4: a host was not reachable. The playbook ignores that, so 0 is possible too.
        check(code in (0, 4), f"ansible-playbook ends with 0 or 4, not {code}")
        return recap

    def answers(self, run=RUN):
        """The hosts with an answer."""
        return sorted(path.stem for path in (self.results / run / "answers").glob("*.jsonl"))

    def census(self, run=RUN):
        """The census of a run."""
        return json.loads((self.results / run / "census.json").read_text())


def settle(lab):
    """Waits until no host runs tailback, and no ssh connection is open."""
    deadline = time.monotonic() + 120
    script = "ls -l /proc/[0-9]*/exe 2>/dev/null | grep -c -E 'tailback|AnsiballZ' || true"
    for host in lab.hosts:
        while host.ssh("sudo sh", script).strip() != "0":
            check(time.monotonic() < deadline, f"tailback ends on {host.name} when Ansible is gone")
            time.sleep(1)


def nothing_left(lab, before, when):
    """Checks that every host is as it was before."""
    settle(lab)
    for host in lab.hosts:
        found = traces.differences(before[host.name], traces.of(host))
        check(not found, f"nothing is left on {host.name} {when}: {found[:10]}")
    say(f"nothing is left on any host {when}")


def check_mode(launcher, lab):
    """Check mode says what would run, and changes nothing anywhere."""
    recap = launcher.run("--check")
    check(all(one["changed"] == 0 for name, one in recap.items() if name != "localhost"
              or one["changed"] == 0), f"check mode changes nothing: {recap}")
    check(launcher.output().count("would run: tailback run mmap-lock") >= len(lab.hosts),
          "each host says what would be run")
    check(launcher.answers() == [], "check mode has no answers")
    say("check mode says what would be run, and changes nothing")


def broken_off(launcher, lab):
    """Kills Ansible while a host measures and another one has answered."""
    process = launcher.start()
    deadline = time.monotonic() + 300
    while not launcher.answers():
        check(process.poll() is None and time.monotonic() < deadline,
              f"a host answers: {launcher.output()[-3000:]}")
        time.sleep(0.2)
    # By then the next host is being measured.
    time.sleep(6)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # Background ssh processes keep the connections open.
    for found in Path("/proc").glob("[0-9]*/comm"):
        try:
            if found.read_text() == "ssh\n":
                os.kill(int(found.parent.name), signal.SIGKILL)
        except (OSError, ValueError):
            pass
    answered = launcher.answers()
    check(len(answered) < len(lab.hosts), f"it broke off half-way: {answered}")
    say(f"broken off after {answered}")
    return {name: (launcher.results / RUN / f"answers/{name}.jsonl").stat().st_mtime_ns
            for name in answered}


def goes_on(launcher, lab, answered):
    """Continues the same run: hosts with an answer are not measured again."""
    recap = launcher.run()
    for name, changed in answered.items():
        file = launcher.results / RUN / f"answers/{name}.jsonl"
        check(file.stat().st_mtime_ns == changed, f"{name} is not measured again")
    check(launcher.answers() == sorted(host.name for host in lab.hosts), f"all answer: {recap}")
    say("the run went on where it broke off, and all hosts have answered")


def the_page(launcher, lab, verdicts):
    """Checks the page: it tells the kernels apart, and counts the host that does not exist."""
    census, page = launcher.census(), (launcher.results / RUN / "census.html").read_text()
    print((launcher.results / RUN / "census.txt").read_text())
    check(census["unreachable"]["count"] == len(lab.absent), "the absent host is counted")
    check("<html" in page and "<script" not in page, "there is a page without a script")
    states = {}
    for host in lab.hosts:
        lines = (launcher.results / RUN / f"answers/{host.name}.jsonl").read_text().splitlines()
        states[host.name] = json.loads(lines[0])["verdict"]["state"]
    print("   ", states)
    for name, wanted in verdicts.items():
        check(states[name] == wanted, f"{name} is {wanted}, and not {states[name]}")
    say("the page tells the kernels apart, and counts the absent host")


def twice(launcher, lab):
    """A second run changes nothing but its new records."""
    recap = launcher.run("-e", "tailback_quick=true", run="second")
    for host in lab.hosts:
        check(recap[host.name]["changed"] == 1 and recap[host.name]["failed"] == 0,
              f"a second run makes one new record of {host.name}: {recap}")
    check(recap["localhost"]["changed"] == 0, f"nothing else is changed: {recap}")
    check(launcher.answers("second") == sorted(host.name for host in lab.hosts), "all answer again")
    say("a second run changed nothing but the new records")


def main(folder, cache, binary):
    """Runs the whole test."""
    lab = hosts.Lab(folder, cache / "base")
    members = [hosts.Host(lab, 11 + n, f"web{1 + n}", python=n != 3) for n in range(6)]
    members += [hosts.Guest(lab, 31, "old1", cache / "kernel-old"),
                hosts.Guest(lab, 32, "new1", cache / "kernel-new")]
    began = time.monotonic()
    lab.start(members, absent=["gone1"])
    say(f"eight hosts are up after {time.monotonic() - began:.0f} s")
    before = {host.name: traces.of(host) for host in lab.hosts}
    launcher = Launcher(lab, binary)
    launcher.write_inventory({"old1": "240s", "new1": "240s"})
    check_mode(launcher, lab)
    answered = broken_off(launcher, lab)
    nothing_left(lab, before, "by a run that was killed")
    goes_on(launcher, lab, answered)
    nothing_left(lab, before, "by a whole run")
    one_at_a_time((launcher.results / RUN / "answers").glob("*.jsonl"))
    the_page(launcher, lab, {"old1": "affected", "new1": "not-affected"})
    # A short budget, because these verdicts do not matter.
    launcher.write_inventory({name: "5s" for name in lab.addresses()})
    twice(launcher, lab)
    nothing_left(lab, before, "by a second run")

