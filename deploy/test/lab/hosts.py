"""Hosts: sshd in its own namespaces, or in a guest with another kernel. All are on one bridge."""

import os
import shlex
import signal
import socket
import subprocess
import time
from pathlib import Path

from . import roots

BRIDGE = "lab0"
NETWORK = "10.99.0"
# An emulated guest boots in half a minute on two idle CPUs, but other programs may use them too.
PATIENCE = 300

# The start of a host in namespaces. If its parent dies, the host and all its processes end.
IN_NAMESPACES = """
set -eu
hostname "$1"
mount -t proc proc "$2/proc"
mount --rbind /sys "$2/sys"
mount -t tmpfs -o mode=755 dev "$2/dev"
mkdir "$2/dev/pts" "$2/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$2/dev/pts"
mount -t tmpfs -o mode=1777 shm "$2/dev/shm"
ln -s pts/ptmx "$2/dev/ptmx"
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
    IFS=: read -r name major minor <<EOT
$node
EOT
    mknod -m 666 "$2/dev/$name" c "$major" "$minor"
done
mount -t tmpfs -o mode=755 run "$2/run"
exec chroot "$2" /bin/sh /start "$3"
"""

# How both kinds of host continue, in their own root.
START = """
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mkdir -p /run/sshd
until ip link show eth0 >/dev/null 2>&1; do sleep 0.1; done
ip link set lo up
ip addr add "$1/24" dev eth0
ip link set eth0 up
/usr/sbin/sshd -D -e &
# The first process of a host reaps orphaned processes.
while :; do wait; sleep 1; done
"""

INIT = """#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=0666,mode=620,gid=5 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# The kernel patches its own code when the first group gets a quota and when the last such group
# goes. QEMU may then run half of the patch on another CPU, and the guest panics. So one group
# always keeps a quota.
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/kept
echo "50000 100000" >/sys/fs/cgroup/kept/cpu.max
for module in /modules/*.ko; do insmod "$module"; done
hostname {name}
. /start
"""


def run(*words, **more):
    """Runs a program that must succeed."""
    return subprocess.run([str(word) for word in words], check=True, **more)


def network():
    """Makes the bridge, with the address of this side. It goes with the namespace."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")


class Host:
    """A host with its own root, an overlay over the base."""

    def __init__(self, lab, number, name, python=True):
        self.lab, self.name, self.python = lab, name, python
        self.number, self.address = number, f"{NETWORK}.{number}"
        self.folder = lab.folder / name
        # Folders of the lab that the host shares, by their path inside. All others are overlays.
        self.shared = {}
        self.root = self.folder / "root"
        self.process = None

    def make_root(self):
        """Makes the root, with the files that make it this host."""
        for part in ["root", "upper", "work"]:
            (self.folder / part).mkdir(parents=True)
        upper = f"upperdir={self.folder}/upper,workdir={self.folder}/work"
        options = f"lowerdir={self.lab.base},{upper}"
        run("mount", "-t", "overlay", "overlay", "-o", options, self.root)
        roots.complete(self.root, self.name, self.lab.key, self.lab.host_key, self.python)
        roots.write(self.root / "start", START)
        for inside, folder in self.shared.items():
            (self.root / inside).mkdir()
            run("mount", "--bind", folder, self.root / inside)

    def start(self):
        """Starts the host in namespaces."""
        self.make_root()
        words = ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork",
                 "--kill-child", "--", "sh", "-c", IN_NAMESPACES, "start", self.name,
                 str(self.root), self.address]
        with open(self.folder / "log", "w") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        inside = self.first_process()
        veth = f"v{self.number}"
        run("ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", inside)
        run("ip", "link", "set", veth, "master", BRIDGE, "up")

    def first_process(self):
        """The pid of the first process in its namespaces."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for _ in range(500):
            found = children.read_text().split()
            if found:
                return int(found[0])
            time.sleep(0.01)
        raise RuntimeError(f"{self.name} did not start: {self.log()}")

    def log(self):
        """The output of the host."""
        return (self.folder / "log").read_text(errors="replace")

    def wait(self):
        """Waits until the sshd of the host answers."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                with socket.create_connection((self.address, 22), timeout=2) as there:
                    there.settimeout(20)
                    if there.recv(4) == b"SSH-":
                        return
            except OSError:
                time.sleep(0.2)
            if self.process.poll() is not None:
                break
        raise RuntimeError(f"{self.name} does not answer:\n{self.log()[-3000:]}")

    def ssh(self, command, script=None, check=True):
        """Runs a command line on the host, as user fleet, with `script` as standard input."""
        done = subprocess.run(["ssh", "-F", str(self.lab.ssh_config), self.name, command],
                              capture_output=True, text=True, check=False,
                              input=script or "", timeout=PATIENCE)
        if check and done.returncode:
            raise RuntimeError(f"{self.name}: {command}: {done.stderr}")
        return done.stdout

    def stop(self):
        """Ends the host at once."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


class Guest(Host):
    """A host with another kernel, emulated, because nothing here can boot with KVM."""

    def __init__(self, lab, number, name, kernel, cpus=2):
        super().__init__(lab, number, name, python=False)
        self.kernel, self.cpus = kernel, cpus

    def pack(self):
        """Packs the initramfs: the root of a host, its modules and its init."""
        self.make_root()
        (self.root / "modules").mkdir()
        # The configuration of the kernel: hosts are told apart by HZ and preemption.
        release, config = (self.kernel / "release").read_text(), self.kernel / "config"
        if config.exists():
            roots.write(self.root / f"boot/config-{release}", config.read_text())
        for module in self.kernel.glob("*.ko"):
            (self.root / "modules" / module.name).write_bytes(module.read_bytes())
        init = INIT.format(name=self.name).replace(". /start", f"set -- {self.address}\n. /start")
        roots.write(self.root / "init", init, 0o755)
        image = self.folder / "initramfs"
        with open(image, "wb") as out:
            run("chroot", self.root, "/bin/sh", "-c", "find . -xdev | cpio -o -H newc 2>/dev/null",
                stdout=out)
        run("umount", self.root)
        return image

    def start(self):
        """Starts the guest in QEMU, on a tap of the bridge."""
        image, tap = self.pack(), f"t{self.number}"
        run("ip", "tuntap", "add", tap, "mode", "tap")
        run("ip", "link", "set", tap, "master", BRIDGE, "up")
        words = f"""qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot
            -accel tcg,thread=multi -cpu max,cx16=off -smp {self.cpus} -m 1024
            -kernel {self.kernel}/vmlinuz -initrd {image} -serial stdio
            -netdev tap,id=n,ifname={tap},script=no,downscript=no
            -device virtio-net-pci,netdev=n,mac=52:54:00:00:00:{self.number:02x},romfile="""
        append = ("console=ttyS0 quiet panic=-1 lpj=10000000 tsc=reliable no_timer_check "
                  "mitigations=off")
        command = ["setpriv", "--pdeathsig", "KILL", *shlex.split(words), "-append", append]
        with open(self.folder / "log", "w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)


class Lab:
    """All hosts of a test, and the keys to log in to them."""

    def __init__(self, folder, base):
        self.folder, self.base, self.hosts = folder, base, []
        self.key = self.make_key("id")
        self.make_key("host_key")
        self.host_key = (folder / "host_key").read_text()
        self.ssh_config = folder / "ssh_config"
        self.absent = {}

    def make_key(self, name):
        """Makes a new key pair. Returns the public key."""
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", self.folder / name)
        return (self.folder / f"{name}.pub").read_text()

    def addresses(self):
        """Names and addresses, including those of absent hosts."""
        return {host.name: host.address for host in self.hosts} | self.absent

    def start(self, hosts, absent=()):
        """Starts the hosts and waits until all answer. No host has the names in `absent`."""
        self.hosts = hosts
        self.absent = {name: f"{NETWORK}.{250 - n}" for n, name in enumerate(absent)}
        self.write_ssh_config()
        network()
        # Guests first, because they take longest.
        for host in sorted(hosts, key=lambda host: not isinstance(host, Guest)):
            host.start()
        for host in hosts:
            host.wait()

    def write_ssh_config(self):
        """Writes all that ssh needs, so that it asks no question and trusts only these hosts."""
        key = (self.folder / "host_key.pub").read_text().strip()
        known = "".join(f"{at} {key}\n" for at in self.addresses().values())
        (self.folder / "known_hosts").write_text(known)
        lines = ["Host *", f"  IdentityFile {self.folder}/id", "  IdentitiesOnly yes",
                 "  User fleet", "  BatchMode yes", "  ConnectTimeout 20",
                 f"  UserKnownHostsFile {self.folder}/known_hosts", "  GlobalKnownHostsFile none",
                 "  StrictHostKeyChecking yes", "  LogLevel ERROR"]
        for name, address in self.addresses().items():
            lines += [f"Host {name}", f"  HostName {address}", f"  HostKeyAlias {address}"]
        self.ssh_config.write_text("\n".join(lines) + "\n")
        os.chmod(self.ssh_config, 0o600)

    def stop(self):
        """Ends all hosts. The end of the lab's namespace would end them too."""
        for host in self.hosts:
            host.stop()
