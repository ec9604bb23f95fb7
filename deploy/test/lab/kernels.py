"""Kernels of the guests, from Debian's packages: an old one and a new one."""

import lzma
import os
import shutil
import subprocess
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
# The newest cloud kernel of each suite.
SUITES = {"old": "bookworm", "new": "trixie-backports"}
# The modules that a guest needs for its network, unless its kernel has them built in.
MODULES = ["virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
           "failover", "net_failover", "dimlib", "virtio_net"]


def apt(folder, *words):
    """Runs apt with its own lists. Those of the machine are not touched."""
    options = {"Dir::Etc::SourceList": folder / "sources", "Dir::Etc::SourceParts": "-",
               "Dir::State::Lists": folder / "lists", "Dir::Cache": folder / "cache",
               "APT::Sandbox::User": "root", "Acquire::Languages": "none"}
    options = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    done = subprocess.run([words[0], *options, "-qq", *words[1:]], cwd=folder, check=True,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout


def packages(folder):
    """The packages with the kernel and its modules, from the dependencies of the suite's newest."""
    depends = apt(folder, "apt-cache", "depends", "linux-image-cloud-amd64")
    image = next(line.split()[-1] for line in depends.splitlines()
                 if "Depends: linux-image-" in line)
    release = image.removeprefix("linux-image-")
    names = apt(folder, "apt-cache", "pkgnames", "linux-").split()
    parts = [f"linux-binary-{release}", f"linux-modules-{release}"]
    return release, parts if all(part in names for part in parts) else [image]


def fetch(cache, which):
    """The folder with `vmlinuz` and the modules of a kernel. Downloads it once."""
    target = cache / f"kernel-{which}"
    if target.is_dir():
        return target
    folder = cache / f"fetch-{which}.{os.getpid()}"
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "cache/archives/partial").mkdir(parents=True)
    (folder / "sources").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {SUITES[which]} main\n")
    try:
        apt(folder, "apt-get", "update")
        release, names = packages(folder)
        apt(folder, "apt-get", "download", *names)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", str(package), str(folder / "root")], check=True)
        kept = folder / "kept"
        kept.mkdir()
        keep(folder / "root", release, kept)
        kept.rename(target)
    finally:
        shutil.rmtree(folder)
    return target


def keep(root, release, kept):
    """Copies the few files that a guest needs."""
    (kept / "release").write_text(release)
    image = next(path for path in root.rglob("vmlinuz*") if path.is_file())
    shutil.copy(image, kept / "vmlinuz")
    for config in root.rglob(f"*config*{release}"):
        if config.is_file():
            shutil.copy(config, kept / "config")
    for number, name in enumerate(MODULES):
        for found in root.rglob(f"{name}.ko*"):
            data = found.read_bytes()
            data = lzma.decompress(data) if found.suffix == ".xz" else data
            Path(kept / f"{number}-{name}.ko").write_bytes(data)
