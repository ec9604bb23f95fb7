"""A guest with Debian 12 whose process 1 is systemd. Its root is made once and kept in
~/.cache/tailback-engines."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SUITE = "bookworm"
START = """[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/try
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target
"""


def cache_folder():
    return Path(os.environ.get("TAILBACK_ENGINES") or Path.home() / ".cache/tailback-engines")


def root_of_guest(packages):
    """The path of a tar with a small Debian, these packages and their dependencies."""
    cache = cache_folder()
    tar = cache / f"{'-'.join(['systemd', SUITE, *packages])}.tar"
    if not tar.exists():
        subprocess.run([ROOT / "scripts/need", "mmdebstrap", "cpio", "qemu-system-x86"], check=True)
        cache.mkdir(parents=True, exist_ok=True)
        partial = tar.with_suffix(".partial")
        include = ",".join(["systemd", "systemd-sysv", "procps", *packages])
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={include}",
                        "--format=tar", SUITE, partial], check=True)
        partial.rename(tar)
    return tar


def image(kernel):
    """The image of a Debian kernel, such as debian:6.1, that `tailback vm --kernel` has fetched. The
    cache may also have kernels for arm64."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = f"vmlinuz-{kernel.split(':')[1]}.*-amd64"
    found = list((cache / "tailback/kernels").glob(f"packages/*/{name}"))
    if not found:
        fetch = f"tailback vm --kernel {kernel} -- list"
        sys.exit(f"{kernel} is not in the cache: run `{fetch}`")
    return max(found, key=lambda path: path.stat().st_mtime)


@contextmanager
def work_folder():
    """A folder that is removed at the end. If this program is killed, the next one removes it."""
    # Without a handler SIGTERM would skip the cleanup below.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    every = cache_folder() / "guests"
    every.mkdir(parents=True, exist_ok=True)
    with open(cache_folder() / "guests.lock", "w", encoding="utf-8") as sweeps:
        fcntl.flock(sweeps, fcntl.LOCK_EX)
        for old in every.iterdir():
            if hold(old):
                shutil.rmtree(old, ignore_errors=True)
        work = Path(tempfile.mkdtemp(dir=every))
        held = hold(work)
    try:
        yield work
    finally:
        shutil.rmtree(work)
        held.close()


def hold(folder):
    """A lock on a folder, until this program ends. None if another program holds it."""
    try:
        lock = open(folder / "lock", "w", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock
    except OSError:
        return None


@contextmanager
def guest(kernel, script, files, packages=()):
    """The words that start QEMU with such a guest, and the folder of the guest. The guest runs
    `script` after its start. The output of `script` goes to the serial port, which is standard
    output here. `files` maps paths in the guest to the files that are copied there."""
    tar = root_of_guest(packages)
    with work_folder() as work:
        root = work / "root"
        root.mkdir()
        subprocess.run(["tar", "-xf", tar, "-C", root], check=True)
        for there, here in files.items():
            shutil.copy(here, root / there.lstrip("/"))
        (root / "try").write_text(script)
        (root / "try").chmod(0o755)
        (root / "etc/systemd/system/try.service").write_text(START)
        wants = root / "etc/systemd/system/multi-user.target.wants"
        wants.mkdir(parents=True, exist_ok=True)
        (wants / "try.service").symlink_to("/etc/systemd/system/try.service")
        (root / "init").symlink_to("/lib/systemd/systemd")
        with open(work / "initramfs", "wb") as out:
            subprocess.run("find . | cpio -o -H newc --quiet", shell=True, cwd=root, stdout=out,
                           check=True)
        shutil.rmtree(root)
        yield words(image(kernel), work), work


def words(kernel, work):
    # One thread: with more, QEMU 7.2 sometimes executes an instruction that the kernel has already
    # replaced, and the guest hangs.
    return ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-nodefaults", "-no-reboot",
            "-display", "none", "-accel", "tcg,thread=single", "-cpu", "max,cx16=off", "-smp", "2",
            "-m", "3072", "-kernel", kernel, "-initrd", work / "initramfs", "-serial", "stdio",
            "-append",
            "console=ttyS0 quiet panic=-1 no_timer_check tsc=reliable mitigations=off "
            # Without udev systemd would wait for it.
            "systemd.mask=serial-getty@ttyS0.service"]
