"""Runs in the guest of scripts/soak: the loads beside the unit of `tailback watch`, and a line of
figures every EVERY seconds, until the guest ends."""

import datetime
import http.client
import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

EVERY = 30
ADDRESS = ("127.0.0.1", 9964)
CPU = Path("/sys/devices/system/cpu/cpu1/online")
GROUPS = Path("/sys/fs/cgroup")
GROUP = GROUPS / "system.slice/tailback-watch.service"
COUNTS = {"processes": 0, "groups": 0, "CPU offline": 0, "clock set": 0, "incidents": 0,
          "scrapes": 0, "scrapes that failed": 0, "slow clients": 0, "records": 0,
          "records that failed": 0}


def quiet(words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False).stdout


def processes():
    """About ten new processes a second, in bursts of a shell, ten `true` and five `sleep`. The
    emulated guest needs more than a second for a burst."""
    while True:
        quiet(["sh", "-c", "for i in 1 2 3 4 5; do /bin/true; sleep 0.1; /bin/true; done"])
        COUNTS["processes"] += 16
        time.sleep(0.1)


def groups():
    """Makes and removes ten control groups a second. Every fifth group gets a process."""
    number = 0
    while True:
        group = GROUPS / f"soak-{number % 1000}"
        group.mkdir()
        if number % 5 == 0:
            with subprocess.Popen(["sleep", "0.01"]) as child:
                (group / "cgroup.procs").write_text(str(child.pid))
        while group.exists():
            try:
                group.rmdir()
            except OSError:
                time.sleep(0.02)
        number += 1
        COUNTS["groups"] += 1
        time.sleep(0.03)


def quota():
    """Starts a unit that its quota throttles for a minute, every five minutes."""
    while True:
        time.sleep(240)
        quiet(["systemd-run", "--quiet", "--collect", "--unit=soak-quota", "-p", "CPUQuota=20%",
               "sh", "-c", "while :; do :; done"])
        time.sleep(60)
        quiet(["systemctl", "stop", "soak-quota"])


def offline():
    """Takes a CPU offline for 5 s, every ten minutes."""
    while True:
        time.sleep(600)
        CPU.write_text("0")
        time.sleep(5)
        CPU.write_text("1")
        COUNTS["CPU offline"] += 1


def clock():
    """Sets the clock an hour ahead or back, in turn, every half an hour."""
    step = 3600
    while True:
        time.sleep(1800)
        time.clock_settime(time.CLOCK_REALTIME, time.time() + step)
        COUNTS["clock set"] += 1
        step = -step


def slow():
    """A client that sends its request at a byte a second. (A slow reader would only fill buffers in
    the kernel.)"""
    while True:
        COUNTS["slow clients"] += 1
        try:
            with socket.create_connection(ADDRESS, timeout=10) as one:
                for byte in b"GET /metrics HTTP/1.1\r\n\r\n":
                    one.sendall(bytes([byte]))
                    time.sleep(1)
        except OSError:
            time.sleep(1)


def scrapes(last):
    """Scrapes every 5 s."""
    while True:
        time.sleep(5)
        try:
            with urllib.request.urlopen("http://%s:%d/metrics" % ADDRESS, timeout=10) as answer:
                last[:] = [answer.read().decode()]
                COUNTS["scrapes"] += 1
        except (OSError, ValueError, http.client.HTTPException):
            last.clear()
            COUNTS["scrapes that failed"] += 1


def unit(name):
    return quiet(["systemctl", "show", "-P", name, "tailback-watch"]).strip()


def resident(pids):
    total = 0
    for pid in pids:
        found = re.search(r"^VmRSS:\s+(\d+)", read(f"/proc/{pid}/status"), re.MULTILINE)
        total += int(found[1]) if found else 0
    return round(total / 1024, 1)


def read(path):
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def descriptors(pids):
    return sum(len(open_files(pid)) for pid in pids)


def in_kernel(pids):
    """The number of eBPF programs, maps and links, by the descriptors that keep them."""
    return sum("bpf" in file for pid in pids for file in open_files(pid))


def open_files(pid):
    folder, files = f"/proc/{pid}/fd", []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        try:
            files.append(os.readlink(f"{folder}/{name}"))
        except OSError:
            # The descriptor was closed meanwhile.
            pass
    return files


def slab():
    found = re.search(r"^SUnreclaim:\s+(\d+)", read("/proc/meminfo"), re.MULTILINE)
    return round(int(found[1]) / 1024, 1)


def sample(began, before, last):
    """The figures of one moment, and the CPU time and clock for the next difference."""
    pids = read(GROUP / "cgroup.procs").split()
    used, at = int(unit("CPUUsageNSec") or 0), time.monotonic()
    text = last[0] if last else ""
    age = re.search(r"^tailback_watch_age_seconds\S* (\S+)", text, re.MULTILINE)
    disk = os.statvfs("/var/lib/tailback-watch")
    row = {"minutes": round((at - began) / 60, 1), "memory of its processes, MiB": resident(pids),
           "processes": len(pids), "descriptors": descriptors(pids),
           "programs, maps and links in the kernel": in_kernel(pids),
           "kernel memory that cannot be reclaimed, MiB": slab(),
           "CPU time, ms/s": round((used - before[0]) / 1e6 / (at - before[1]), 1),
           "series": sum(line.startswith("tailback_") for line in text.splitlines()),
           "age of the figures, s": float(age[1]) if age else None,
           "free on its disk, KiB": disk.f_bavail * disk.f_frsize // 1024}
    return row, (used, at)


def began_in(lines):
    """The stall and the program of each incident that began in these lines."""
    names = []
    for line in lines.splitlines():
        try:
            incident = json.loads(line)["incident"]
        except (ValueError, KeyError, TypeError):
            continue
        if incident["event"] == "began":
            names.append(" of ".join(incident["id"].split(":")[:2]))
    return names


def count_records(notes):
    """Counts the records that were written and those that were not. A failure is one line, however
    long it lasts."""
    for note in notes:
        COUNTS["records"] += note.startswith("record: ")
        COUNTS["records that failed"] += "tries again" in note


def main():
    last, began = [], time.monotonic()
    (GROUPS / "cgroup.subtree_control").write_text("+cpu +memory")
    Path("/var/lib/tailback-watch").mkdir(mode=0o700, exist_ok=True)
    # After some records, the next one no longer fits.
    quiet(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "soak", "/var/lib/tailback-watch"])
    quiet(["systemctl", "start", "tailback-watch"])
    while not GROUP.exists():
        time.sleep(1)
    pid = unit("MainPID")
    loads = [threading.Thread(target=load, name=load.__name__, daemon=True)
             for load in [processes, groups, quota, offline, clock, slow]]
    loads.append(threading.Thread(target=scrapes, name="scrapes", args=(last,), daemon=True))
    for load in loads:
        load.start()
    before = (int(unit("CPUUsageNSec") or 0), time.monotonic())
    while True:
        time.sleep(EVERY)
        row, before = sample(began, before, last)
        # The new lines since the last time.
        lines = quiet(["journalctl", "-u", "tailback-watch", "-o", "cat", "--cursor-file=/cursor"])
        began_now = began_in(lines)
        COUNTS["incidents"] += len(began_now)
        notes = [note for note in lines.splitlines() if '"schema"' not in note]
        count_records(notes)
        now = datetime.datetime.now().isoformat(timespec="seconds")
        line = {"figures": row, "counts": COUNTS, "same": unit("MainPID") == pid, "at": now,
                "incidents": began_now, "ended": [load.name for load in loads if not load.is_alive()]}
        print(json.dumps(line), flush=True)
        for note in notes:
            print(f"note: {note}", flush=True)


if __name__ == "__main__":
    main()
