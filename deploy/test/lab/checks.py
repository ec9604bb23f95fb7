"""Checks of the tests, and their output."""

import itertools
import json
import re
import time


class Failed(Exception):
    """A check that failed."""


def check(holds, what):
    """Ends the test unless `holds`."""
    if not holds:
        raise Failed(what)


def say(what):
    """Prints a line for a check that holds."""
    print(f"ok  {what}", flush=True)


def summary(output):
    """Ansible's summary: the counts of each host."""
    found = {}
    for line in output.partition("PLAY RECAP")[2].splitlines():
        host, colon, counts = line.partition(":")
        if colon and "changed=" in counts:
            found[host.strip()] = {key: int(n) for key, n in re.findall(r"(\w+)=(\d+)", counts)}
    return found


def one_at_a_time(files):
    """Checks that no study of these answers began before the previous one had ended."""
    spans = []
    for file in files:
        brief = json.loads(file.read_text().splitlines()[0])
        began = time.mktime(time.strptime(brief["started"], "%Y-%m-%dT%H:%M:%SZ"))
        spans.append((began, brief["elapsed_s"], file.stem))
    spans.sort()
    for (began, took, name), (later, _, other) in itertools.pairwise(spans):
        # `started` has a resolution of one second.
        check(began + took < later + 1.5, f"{name} was measured while {other} was")
    say("hosts of one rack were measured one at a time")
