"""The findings of watch, each with a load of any size and an independent measure of it.

For each of them `figure` is the quantity that is compared with the limit, in the unit of the limit,
and `start` makes a load with a figure of about x. scripts/dose finds the x whose measured figure is
the wanted one."""

import time

from bench import END_WITH_US, idle_of, memory_pressure, scheduled


class Finding:
    """What most findings share: a limit on the loss of one victim, in milliseconds a second."""

    unit = "ms/s"
    limit = 100.0
    victim = "victim"
    settle = 0.5
    # The length of a look during the fit, in seconds.
    look = 3.0

    def __init__(self, bench):
        self.bench = bench

    def is_it(self, finding):
        """Whether a finding of watch is the intended one."""
        return finding["stall"] == self.stall and finding["victim"]["name"] == self.victim

    def asks(self):
        """Extra flags for watch."""
        return []

    def figure(self, began, ended):
        """The figure between two times; by default the loss by the load's own clock."""
        return self.own.between(began, ended) / (ended - began) * 1e3

    def look_at(self, x, dose):
        """The figure of a load, in a short look without watch."""
        try:
            self.start(x, dose)
            return self.look_on()
        finally:
            self.bench.stop()

    def look_on(self):
        time.sleep(self.settle)
        began = time.monotonic_ns()
        time.sleep(self.look)
        ended = time.monotonic_ns()
        # The load may print its last line a moment later.
        time.sleep(0.15)
        return self.figure(began, ended)

    def fitted(self):
        """What else the fit has measured."""
        return {}

    def use(self, fitted):
        """Restores what `fitted` has returned."""

    def sampled(self, began, ended):
        return [n / (ended - began) * 1e3 for n in self.bench.between(began, ended)]


class CpuQuota(Finding):
    name = stall = "cpu-quota"
    limit = 10.0
    other = "no other limit"
    truth = "throttled time in cpu.stat"

    def start(self, x, dose):
        # 11 ms of work in one piece, with a quota of 5 ms in each 10 ms.
        group = self.bench.group(5000, 10000)
        self.bench.load("victim", "beat", 1, 11, 4500 / x, group=group)
        self.bench.sample(group.stat)

    def figure(self, began, ended):
        return self.sampled(began, ended)[0]


class QuotaBlind(Finding):
    name = stall = "quota-blind"
    unit, limit = "times", 1.3
    victim = "node"
    settle = 1.0
    other = "held by it far above 10 ms/s"
    truth = "throttled time of all CPUs in each throttled period (cpu.stat), over what one thread can cause"
    QUOTA, PERIOD = 25000, 50000

    def start(self, x, dose):
        group = self.bench.group(self.QUOTA, self.PERIOD)
        # An approximation: how much a burst of either kind throttles, and in how many periods.
        share = min(max((0.6 * x - 0.3) / max(5.7 - 1.4 * x, 0.1), 0.0), 1.0)
        self.bench.run(["node", self.bench.folder / "pool.js", share], group)
        self.bench.sample(group.stat)

    def figure(self, began, ended):
        throttled, periods = self.bench.between(began, ended)
        return throttled / max(periods, 1.0) / ((self.PERIOD - self.QUOTA) * 1000)


class Neighbour(Finding):
    name = stall = "neighbour"
    other = "a third of the time that it wanted; a ninth of the other's CPU time"
    truth = "run delay of the victim (schedstat)"

    def start(self, x, dose):
        # One session with a program on each CPU, so no CPU is idle. The session gets much more CPU
        # time.
        rival, other = self.bench.work / "rival", self.bench.work / "other"
        ends = " ".join(END_WITH_US)
        self.bench.run(["sh", "-c", f"{ends} {rival} spin 0 & {ends} {other} spin 1 & wait"])
        child, _ = self.bench.load("victim", "beat", 0, x / 5, 100)
        self.bench.sample(scheduled(child.pid))

    def figure(self, began, ended):
        return self.sampled(began, ended)[1]


class RealTime(Finding):
    name, stall = "real-time policy", "real-time"
    other = "more than 20% of the time that it wanted, from the limit on"
    truth = "run delay of the victim (schedstat)"
    figure = Neighbour.figure

    def start(self, x, dose):
        # 30 ms of work in 100 ms take longer if another program takes its share of each 10 ms.
        share = x / (300 + x)
        self.bench.load("urgent", "beat", 0, 10 * share, 10, "fifo")
        child, _ = self.bench.load("victim", "beat", 0, 30, 100)
        self.bench.sample(scheduled(child.pid))


class Confined(Finding):
    name, stall = "confined beside an idle CPU", "confined"
    other = "half of the time that it wanted"
    truth = "run delay of the victim (schedstat), times the idle share of the other CPU (/proc/stat)"

    def start(self, x, dose):
        self.bench.load("rival", "spin", 0)
        child, _ = self.bench.load("victim", "beat", 0, x / 10, 100)
        self.bench.sample(scheduled(child.pid), idle_of(1))

    def figure(self, began, ended):
        _, delay, idle, ticks = self.bench.between(began, ended)
        return delay / (ended - began) * 1e3 * idle / max(ticks, 1.0)


class AsleepBehind(Finding):
    name = stall = "asleep-behind"
    victim = "wanter"
    other = "a single time of about 20 ms (limit 10 ms)"
    truth = "the holder's clock: how long it stood still with the lock"
    # 12 ms of work in one piece, with a quota of 4 ms in each 25 ms: at least two stalls.
    STALL_MS, WORK_MS, QUOTA, PERIOD = 28, 12, 4000, 25000

    def start(self, x, dose):
        group = self.bench.group(self.QUOTA, self.PERIOD)
        shared = self.bench.work / "mutex"
        shared.unlink(missing_ok=True)
        words = "shared-holder", shared, self.WORK_MS, self.STALL_MS * 1e3 / x
        _, self.own = self.bench.load("holder", *words, group=group)
        self.bench.load("wanter", "shared-wanter", shared)

    def is_it(self, finding):
        return super().is_it(finding) and finding["facts"]["sleeps"] == "lock"


class OwnMmapLock(Finding):
    name, stall = "own mmap lock", "own-mmap-lock"
    victim = "changer"
    other = "more than 20% of the time that it ran or waited for the lock, from the limit on"
    truth = "the waiting thread's clock: what mmap took beyond what it usually does"

    def start(self, x, dose):
        _, self.own = self.bench.load("changer", "protects", 128, 3500 / x)


class MmapLock(Finding):
    name = stall = "mmap-lock"
    limit = 2.0
    victim = "mapper"
    other = "a wait of more than 2 ms (limit 1 ms)"
    truth = "the victim's clock: what mmap took beyond what it usually does"
    look = 2.0
    # Reads in five seconds for each dose, so that each read takes more than 2 ms.
    READS = {0.5: 2, 0.8: 3, 1.25: 5, 2.0: 8}
    # During the fit it reads this many times as often.
    TIMES = 10

    def start(self, x, dose, times=1):
        reads = self.READS[dose] * times
        child, self.own = self.bench.load("mapper", "mapped", x * 5 / self.READS[dose] * 60)
        # Waits until the mapper has written its memory.
        time.sleep(0.3)
        self.bench.load("reader", "reads", child.pid, 5000 / reads)

    def look_at(self, x, dose):
        try:
            self.start(x, dose, self.TIMES)
            return self.look_on() / self.TIMES
        finally:
            self.bench.stop()


class PreemptedHolder(Finding):
    name = stall = "preempted-holder"
    victim = "holders"
    other = "ready without a CPU about six times as long; more than 40% of its CPU time"
    truth = "the threads' CPU clocks while they spin"

    def start(self, x, dose):
        _, self.own = self.bench.load("holders", "holders", 8, 30, 30000 / x)


class Reclaim(Finding):
    name, stall = "memory-stall", "memory-stall"
    victim = "cached"
    # Waits until the group is full.
    settle = 1.5
    other = "a third of the time that it ran"
    truth = "time stood still for memory (/proc/pressure/memory), which nobody else does"

    def start(self, x, dose):
        # The whole file is a hole, so nothing waits for a disk.
        large = self.bench.work / "hole"
        with open(large, "w") as file:
            file.truncate(1 << 30)
        group = self.bench.memory_group(32 << 20)
        self.bench.load("cached", "reads-file", large, x / 4, 50, group=group)
        self.bench.sample(memory_pressure)

    def figure(self, began, ended):
        return self.sampled(began, ended)[0]


class Node(Finding):
    """A load in an Erlang node."""

    victim = "beam.smp"
    settle = 1.5
    flags = "+S 2:2"
    inside = False

    def node(self, call, group=None):
        child, self.own = self.bench.run(
            # The node is root's: other machines cannot reach its port.
            ["env", f"HOME={self.bench.home}", "erl", "-noshell", "-noinput", "-name",
             "dose@127.0.0.1", "-start_epmd", "false", "-erl_epmd_port", self.next_port(),
             "-kernel", "inet_dist_use_interface", "{127,0,0,1}", *self.flags.split(),
             "-eval", f"{call}, timer:sleep(infinity)."], group)
        return child

    def next_port(self):
        self.bench.port += 1
        return self.bench.port

    def asks(self):
        if not self.inside:
            return []
        address = f"dose@127.0.0.1:{self.bench.port}"
        return ["--node", address, "--cookie-file", self.bench.home / ".erlang.cookie"]


class NifAsleep(Node):
    name, stall = "blocking-nif, asleep", "blocking-nif"
    other = "calls of 20 ms (limit 8 ms)"
    truth = "the node's clock around the calls"
    function, sleeps = "nap", True

    def start(self, x, dose):
        self.node(f"dose:call({self.function}, 20000, {round(2e7 / x)})")

    def is_it(self, finding):
        return super().is_it(finding) and finding["facts"]["sleeps"] == self.sleeps


class NifComputing(NifAsleep):
    name = "blocking-nif, computing"
    function, sleeps = "burn", False


class MoreSchedulers(Node):
    name, stall = "more schedulers than quota", "more-schedulers"
    limit = 10.0
    flags = "+S 4:4 +sbwt none +sbwtdcpu none +sbwtdio none"
    other = "four schedulers, half of a CPU"
    truth = "run delay of the node's threads (schedstat), less that without a quota"
    settle = 0.5
    look = 5.0
    # The quota in microseconds is half a CPU (QUOTA) or none (FREE).
    QUOTA, FREE, PERIOD = 5000, -1, 10000

    def start(self, x, dose):
        self.start_node(x, self.QUOTA)

    def start_node(self, x, quota):
        group = self.bench.group(self.FREE, self.PERIOD)
        child = self.node(f"dose:work(120, {round(5e6 / x)})", group)
        # The start needs more than the quota.
        time.sleep(1.2)
        group.limit(quota, self.PERIOD)
        self.bench.sample(scheduled(child.pid))

    def look_at(self, x, dose):
        """Looks at the same load without a quota first."""
        self.free = 0.0
        try:
            self.start_node(x, self.FREE)
            self.free = self.look_on()
        finally:
            self.bench.stop()
        return super().look_at(x, dose)

    def fitted(self):
        return {"free_ms_per_s": self.free}

    def use(self, fitted):
        self.free = fitted["free_ms_per_s"]

    def figure(self, began, ended):
        return max(self.sampled(began, ended)[1] - self.free, 0.0)


class UnevenQueues(Node):
    name, stall = "uneven run queues", "uneven-queues"
    unit, limit = "of the time", 0.5
    inside = True
    other = "a scheduler that is used for less than a quarter of the time"
    truth = "run queues, asked every 5 ms by a process of the node"
    PERIOD_US = 370_000

    def start(self, x, dose):
        self.node(f"dose:pile({round(min(x, 1.0) * self.PERIOD_US)}, {self.PERIOD_US})")

    def figure(self, began, ended):
        return self.own.between(began, ended) / (ended - began)


class MailboxFlood(Node):
    name = stall = "mailbox-flood"
    limit = 200.0
    inside = True
    other = "20,000 messages (limit 5,000)"
    truth = "the process's clock while it scans"
    PERIOD_US = 37_000

    def start(self, x, dose):
        self.node(f"dose:scan({round(x / 1000 * self.PERIOD_US)}, {self.PERIOD_US})")


ALL = [MmapLock, OwnMmapLock, CpuQuota, QuotaBlind, RealTime, Neighbour, Confined, PreemptedHolder, Reclaim,
       AsleepBehind, NifAsleep, NifComputing, MoreSchedulers, UnevenQueues, MailboxFlood]
