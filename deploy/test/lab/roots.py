"""Root folders of the hosts: Debian with sshd, sudo and busybox, with or without Python."""

import os
import shutil
import subprocess
from pathlib import Path

# The packages that the tests need. They are unpacked but not configured, so no package script
# runs.
PACKAGES = ["openssh-server", "sudo", "busybox-static", "python3-minimal"]
SLURM = ["slurmctld", "slurmd", "slurm-client", "munge"]

USERS = """root:x:0:0::/root:/bin/sh
sshd:x:100:65534::/run/sshd:/bin/false
fleet:x:1000:1000::/home/fleet:/bin/sh
nobody:x:65534:65534::/:/bin/false
"""
GROUPS = "root:x:0:\ntty:x:5:\nfleet:x:1000:\nnogroup:x:65534:\n"
PAM = """auth sufficient pam_permit.so
account sufficient pam_permit.so
session optional pam_permit.so
"""
SSHD = """Port 22
UsePAM no
PasswordAuthentication no
PermitRootLogin no
HostKey /etc/ssh/host_key
PidFile none
Subsystem sftp internal-sftp
PrintMotd no
PrintLastLog no
"""
# Folders that are not needed. They are removed, because a guest has its root in memory.
BALLAST = ["usr/share", "usr/lib/x86_64-linux-gnu/perl-base", "var/lib/apt", "var/cache"]


def sources():
    """The apt sources of this machine, if they are Debian's deb822 file."""
    path = Path("/etc/apt/sources.list.d/debian.sources")
    return [str(path)] if path.is_file() and "bookworm" in path.read_text() else []


def unpack(target, packages):
    """Unpacks packages and their dependencies into a folder, once."""
    if target.is_dir():
        return target
    unfinished = target.with_name(target.name + f".{os.getpid()}")
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=extract"]
    command += [f"--include={','.join(packages)}", "bookworm", str(unfinished), *sources()]
    subprocess.run(command, check=True)
    for name in BALLAST:
        shutil.rmtree(unfinished / name, ignore_errors=True)
    unfinished.rename(target)
    return target


def base(cache):
    """The root of all hosts, with Python."""
    return unpack(cache / "base", PACKAGES)


def with_slurm(cache):
    """The same root with Slurm."""
    return unpack(cache / "slurm", [*PACKAGES, *SLURM])


def write(path, text, mode=0o644, owner=0):
    """Writes a file of a root, and makes the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    os.chown(path, owner, owner)


def complete(root, name, key, host_key, python):
    """Turns a copy of the base into a host: users, keys, programs."""
    (root / "bin").mkdir(exist_ok=True)
    subprocess.run(["chroot", str(root), "/bin/busybox", "--install", "-s", "/bin"], check=True)
    write(root / "etc/passwd", USERS)
    write(root / "etc/group", GROUPS)
    write(root / "etc/shadow", "root:*:1::::::\nfleet:*:1::::::\n", 0o600)
    write(root / "etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n")
    write(root / "etc/hosts", f"127.0.0.1 localhost {name}\n")
    write(root / "etc/hostname", name + "\n")
    write(root / "etc/os-release", 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n')
    for kind in ["auth", "account", "session", "session-noninteractive", "password"]:
        write(root / f"etc/pam.d/common-{kind}", PAM)
    write(root / "etc/ssh/sshd_config", SSHD)
    write(root / "etc/ssh/host_key", host_key, 0o600)
    write(root / "etc/sudoers", "fleet ALL=(ALL) NOPASSWD: ALL\n", 0o440)
    write(root / "home/fleet/.ssh/authorized_keys", key, 0o600, 1000)
    for folder in ["home/fleet", "home/fleet/.ssh"]:
        os.chown(root / folder, 1000, 1000)
        (root / folder).chmod(0o700)
    for folder, mode in [("root", 0o700), ("run", 0o755), ("proc", 0o555), ("sys", 0o555),
                         ("dev", 0o755), ("tmp", 0o1777), ("var/tmp", 0o1777)]:
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder).chmod(mode)
    subprocess.run(["ldconfig", "-r", str(root)], check=True)
    if not python:
        for found in [*root.glob("usr/bin/python3*"), *root.glob("usr/lib/python3*")]:
            shutil.rmtree(found) if found.is_dir() and not found.is_symlink() else found.unlink()
