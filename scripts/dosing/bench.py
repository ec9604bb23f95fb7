"""Starts loads for scripts/dose, measures them without tailback, and ends them."""

import bisect
import json
import os
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
PERIOD_S = 0.05
CGROUPS = Path("/sys/fs/cgroup")
# Words before a command that ends when the process that started it ends. Its children do not.
END_WITH_US = ["setpriv", "--pdeathsig", "KILL"]
# Program names, as links to the single program of loads.c, because watch groups programs by name.
NAMES = ("victim", "urgent", "rival", "other", "holder", "wanter", "server", "client", "changer", "mapper", "reader",
         "holders", "cached")


class CannotMeasure(Exception):
    """A load does not run, or does not say what it lost."""


class Clock:
    """The output of a load about itself: lines with a time and a sum."""

    def __init__(self, path):
        self.path = path

    def between(self, began, ended):
        """The growth of the sum, in nanoseconds, between two times of the monotonic clock."""
        # Erlang prints the time of day.
        offset = time.time_ns() - time.monotonic_ns()
        points = []
        for line in self.path.read_text(errors="replace").splitlines():
            try:
                said = json.loads(line)
                at = said["at_ns"] if "at_ns" in said else said["real_ns"] - offset
                points.append((at, (said["lost_ns"],)))
            except (ValueError, KeyError, TypeError):
                continue
        return between(points, began, ended)[0]


def between(points, began, ended):
    """The growth of sums between two times, by linear interpolation between the points."""
    if len(points) < 2:
        raise CannotMeasure("the load said too little")
    times = [at for at, _ in points]

    def sums(when):
        after = min(max(bisect.bisect_left(times, when), 1), len(points) - 1)
        (start, before), (stop, behind) = points[after - 1], points[after]
        # After the last point the sum continues at the same rate for a moment.
        share = min(max((when - start) / max(stop - start, 1), 0.0), 2.0)
        return [a + (b - a) * share for a, b in zip(before, behind)]
    return [b - a for a, b in zip(sums(began), sums(ended))]


class Sampler(threading.Thread):
    """Reads some sums periodically."""

    def __init__(self, read):
        super().__init__(daemon=True)
        self.read, self.points, self.ends, self.wrong = read, [], threading.Event(), None
        self.start()

    def run(self):
        try:
            while not self.ends.is_set():
                before = time.monotonic_ns()
                sums = self.read()
                self.points.append(((before + time.monotonic_ns()) // 2, sums))
                self.ends.wait(PERIOD_S)
        except (OSError, ValueError, CannotMeasure) as wrong:
            self.wrong = wrong

    def stop(self):
        self.ends.set()
        self.join()

    def between(self, began, ended):
        if self.wrong:
            raise CannotMeasure(str(self.wrong))
        return between(self.points, began, ended)


class PassedOn:
    """The controllers that this script lets groups below the root use, until its end. For each an
    empty group remembers that, so that a later script can take it back:
    dose-passed-CONTROLLER-PID."""

    control = CGROUPS / "cgroup.subtree_control"

    def __init__(self):
        self.marks = []

    def add(self, controller):
        if controller not in self.control.read_text().split():
            mark = CGROUPS / f"dose-passed-{controller}-{os.getpid()}"
            mark.mkdir()
            self.marks.append(mark)
            self.control.write_text(f"+{controller}")

    def end(self):
        for mark in self.marks:
            self.take_back(mark)
        self.marks = []

    @classmethod
    def take_back(cls, mark):
        try:
            cls.control.write_text(f"-{mark.name.split('-')[2]}")
        except OSError:
            pass
        remove(mark)


class Group:
    """A control group with a quota, below the root, in v1 or v2."""

    def __init__(self, passed_on):
        self.v2 = (CGROUPS / "cgroup.controllers").exists()
        if self.v2:
            passed_on.add("cpu")
        self.folder = (CGROUPS if self.v2 else CGROUPS / "cpu") / f"dose-{os.getpid()}"
        self.folder.mkdir()

    def limit(self, quota_us, period_us):
        if self.v2:
            (self.folder / "cpu.max").write_text(f"{int(quota_us)} {int(period_us)}")
            return
        (self.folder / "cpu.cfs_period_us").write_text(str(int(period_us)))
        (self.folder / "cpu.cfs_quota_us").write_text(str(int(quota_us)))

    def stat(self):
        """The throttled time of its CPUs, in nanoseconds, and the number of throttled periods."""
        found = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        throttled = int(found["throttled_usec"]) * 1000 if self.v2 else int(found["throttled_time"])
        return throttled, int(found["nr_throttled"])


class MemoryGroup:
    """A control group with little memory."""

    def __init__(self, size, passed_on):
        v1 = CGROUPS / "memory"
        top, file = (v1, "memory.limit_in_bytes") if v1.exists() else (CGROUPS, "memory.max")
        if top == CGROUPS:
            passed_on.add("memory")
        self.folder = top / f"dose-memory-{os.getpid()}"
        self.folder.mkdir()
        (self.folder / file).write_text(str(size))


class Bench:
    """A folder with the programs, and the running loads."""

    folder = Path(__file__).resolve().parent

    def __init__(self):
        remove_old()
        self.passed_on = PassedOn()
        self.children, self.groups, self.sampler, self.began = [], [], None, 0
        self.work = Path(tempfile.mkdtemp(prefix=f"dose-work-{os.getpid()}-"))
        self.work.chmod(0o755)
        # Of the nodes: only root may see their cookie.
        self.home = self.work / "home"
        self.port = 20000 + os.getpid() % 10000
        loads = self.work / "loads"
        subprocess.run(["gcc", "-O2", "-pthread", "-o", loads, SCRIPTS / "loads.c"], check=True)
        for name in NAMES:
            os.link(loads, self.work / name)
        self.build_node()

    def build_node(self):
        """Builds what the Erlang nodes run, and writes the cookie for asking them."""
        self.home.mkdir(mode=0o700)
        cookie = self.home / ".erlang.cookie"
        cookie.write_text(secrets.token_hex(16))
        cookie.chmod(0o400)
        subprocess.run(["erlc", "-o", self.work, self.folder / "dose.erl", self.folder / "nap.erl"], check=True)
        root = subprocess.run(["erl", "-noshell", "-eval", 'io:format("~ts", [code:root_dir()]), halt().'],
                              check=True, capture_output=True, text=True).stdout
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", f"-I{root}/usr/include", "-o", self.work / "nap.so",
                        self.folder / "nap.c"], check=True)

    def group(self, quota_us, period_us):
        group = Group(self.passed_on)
        self.groups.append(group)
        group.limit(quota_us, period_us)
        return group

    def memory_group(self, size):
        group = MemoryGroup(size, self.passed_on)
        self.groups.append(group)
        return group

    def run(self, command, group=None):
        """Starts a program in its own session, like a service. The kernel ends it when this script
        ends, however that ends."""
        said = self.work / f"said-{len(self.children)}"

        def join():
            if group:
                (group.folder / "cgroup.procs").write_text(str(os.getpid()))
        with open(said, "w") as output:
            self.children.append(subprocess.Popen(
                [*END_WITH_US, *map(str, command)], stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.DEVNULL, start_new_session=True, cwd=self.work, preexec_fn=join))
        return self.children[-1], Clock(said)

    def load(self, name, *words, group=None):
        """Starts a load of loads.c under this program name. The first word names the load."""
        return self.run([self.work / name, *words], group)

    def sample(self, *reads):
        """Starts to read these sums periodically."""
        self.sampler = Sampler(lambda: [number for read in reads for number in read()])

    def between(self, began, ended):
        return self.sampler.between(began, ended)

    def stop(self):
        """Ends all loads, and waits until nothing of them is left."""
        if self.sampler:
            self.sampler.stop()
            self.sampler = None
        for child in self.children:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for group in self.groups:
            empty(group.folder)
        for child in self.children:
            child.wait()
        self.children = []
        for group in self.groups:
            remove(group.folder)
        self.groups = []

    def close(self):
        self.stop()
        self.passed_on.end()
        subprocess.run(["rm", "-rf", self.work], check=False)


def remove_old():
    """Removes what earlier scripts that were killed have left. The name of a group ends with a
    process id."""
    marks = []
    for top in (CGROUPS, CGROUPS / "cpu", CGROUPS / "memory"):
        for folder in top.glob("dose-*"):
            if not is_old(folder.name.rsplit("-", 1)[1]):
                continue
            if folder.name.startswith("dose-passed-"):
                marks.append(folder)
                continue
            empty(folder)
            remove(folder)
    for mark in marks:
        PassedOn.take_back(mark)
    for folder in Path(tempfile.gettempdir()).glob("dose-work-*-*"):
        # Any user can make such a name in /tmp, but cannot put anything in the place of root's
        # folder.
        is_ours = not folder.is_symlink() and folder.is_dir() and folder.stat().st_uid == 0
        if is_ours and is_old(folder.name.split("-")[2]):
            subprocess.run(["rm", "-rf", "--one-file-system", folder], check=False)


def is_old(pid):
    """Whether a name with this process id is one of an earlier script that was killed."""
    return pid.isdigit() and not Path(f"/proc/{pid}").exists()


def empty(folder):
    for _ in range(100):
        pids = (folder / "cgroup.procs").read_text().split()
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def remove(folder):
    for _ in range(50):
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.02)


def scheduled(*pids):
    """How long the threads of some processes ran, and how long they were runnable without a CPU."""
    def read():
        ran = delay = 0
        for pid in pids:
            for task in os.listdir(f"/proc/{pid}/task"):
                try:
                    one = Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()
                except OSError:
                    continue
                ran, delay = ran + int(one[0]), delay + int(one[1])
        return ran, delay
    return read


def idle_of(cpu):
    """How long this CPU was idle, and how long it was online, in ticks."""
    def read():
        line = next(one for one in Path("/proc/stat").read_text().splitlines() if one.startswith(f"cpu{cpu} "))
        ticks = [int(number) for number in line.split()[1:9]]
        return ticks[3] + ticks[4], sum(ticks)
    return read


def memory_pressure():
    """How long some task of the machine was stalled on memory, in nanoseconds."""
    some = Path("/proc/pressure/memory").read_text().splitlines()[0]
    return (int(some.rsplit("total=", 1)[1]) * 1000,)


def busy(seconds):
    """The share of the CPUs that is in use during this time, in percent."""
    def read():
        ticks = [int(number) for number in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]
    (all_before, idle_before), _ = read(), time.sleep(seconds)
    all_after, idle_after = read()
    whole = all_after - all_before
    return 100 * (1 - (idle_after - idle_before) / whole) if whole else 100
