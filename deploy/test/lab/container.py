"""Runs tailback as a container does: a root with only the binary, and the rights of a manifest."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

CAPABILITIES = {"CHOWN": 0, "KILL": 5, "SETGID": 6, "SETUID": 7, "SYS_PTRACE": 19, "PERFMON": 38,
                "BPF": 39}
LAST = 40
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38


def mount(*words):
    """Mounts something."""
    subprocess.run(["mount", *map(str, words)], check=True)


def of_host(path):
    """A folder of the host, or an empty one if it does not exist, as a runtime would make it."""
    folder = Path(path)
    if not folder.is_dir():
        folder = Path("/run/made") / path.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def fill(root, binary, host):
    """Fills the root: the binary, the mounts of a runtime, and the host mounts of the manifest."""
    root.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "scratch", root)
    # Hides the machine's own /run, so that nothing is left there.
    mount("-t", "tmpfs", "-o", "mode=755", "run", "/run")
    shutil.copy(binary, root / "tailback")
    for name in ["proc", "sys", "dev", "tmp", "etc"]:
        (root / name).mkdir()
    mount("-t", "proc", "proc", root / "proc")
    mount("--rbind", "/sys", root / "sys")
    mount("-t", "tmpfs", "-o", "mode=1777", "tmp", root / "tmp")
    for name in ["null", "zero", "urandom"]:
        (root / "dev" / name).touch()
        mount("--bind", f"/dev/{name}", root / "dev" / name)
    for inside in host:
        (root / inside.lstrip("/")).mkdir(parents=True, exist_ok=True)
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        path = line.split()[4]
        if path.startswith(f"{root}/sys"):
            mount("-o", "remount,bind,ro", path)
    for inside, outside in host.items():
        mount("--rbind", of_host(outside), root / inside.lstrip("/"))
    mount("-o", "remount,ro", root)


def restrict(rights):
    """Takes the user and the privileges of the manifest, irrevocably."""
    libc = ctypes.CDLL(None, use_errno=True)
    kept = {CAPABILITIES[name] for name in rights["capabilities"].get("add", [])}
    for number in range(LAST + 1):
        if number not in kept:
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    os.setgroups([])
    os.setresgid(*[rights["runAsGroup"]] * 3)
    os.setresuid(*[rights["runAsUser"]] * 3)
    if not rights["allowPrivilegeEscalation"]:
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def main():
    """Reads the wanted container from the command line, and becomes it."""
    wanted = json.loads(sys.argv[1])
    root = Path(wanted["root"])
    fill(root, wanted["binary"], wanted["host"])
    os.chroot(root)
    os.chdir("/")
    restrict(wanted["rights"])
    os.execve("/tailback", ["/tailback", *wanted["args"]], wanted["environment"])


if __name__ == "__main__":
    main()
