"""The files, processes and control groups of a host, for a comparison of before and after."""

# Files with their size, owner, mode and modification time. Folders without the time, because a
# file that came and went changes it. What the kernel and sshd themselves write is left out.
FILES = r"""
find / -xdev \( -path /proc -o -path /sys -o -path /dev/pts -o -path /run/sudo \) -prune -o \
    -type d -exec stat -c '%n %u:%g %a' {} + -o -exec stat -c '%n %u:%g %a %s %Y' {} +
for place in /run /tmp /var/tmp /dev/shm; do
    find $place -path /run/sudo -prune -o -print
done
"""
GROUPS = "find /sys/fs/cgroup/ -type d | grep -i tailback || true"
# Processes by their whole command line. Kernel threads have none.
PROCESSES = r"""
for process in /proc/[0-9]*; do
    tr '\0' ' ' <$process/cmdline 2>/dev/null; echo
done | grep -v -E '^$|sshd: |sudo |^sh |^/bin/sh |^find |^sleep |^tr |^grep |^sort |-sh|^cat '
"""


def of(host):
    """All traces of a host, one on each line."""
    script = f"( {FILES}\n{GROUPS}\n{PROCESSES}\n) 2>/dev/null | sort -u"
    return set(host.ssh("sudo sh", script).splitlines())


def differences(before, after):
    """The lines that are new or gone."""
    return [f"new: {line}" for line in sorted(after - before)] + [
        f"gone: {line}" for line in sorted(before - after)]
