"""The order in which hosts are measured. Hosts of one rack are never measured at once."""


def waves(hosts, hostvars, at_once):
    """Returns the hosts in the order of their waves, and the size of each wave.

    The n-th wave has the n-th host of each rack. It is split at `at_once` hosts.
    """
    turns = {}
    for host in hosts:
        rack = hostvars[host].get("tailback_rack")
        # A host without a rack is its own rack. A rack may have the name of a host.
        key = ("host", host) if rack is None else ("rack", str(rack))
        turns.setdefault(key, []).append(host)
    order, sizes = [], []
    most = max(1, int(at_once))
    for turn in range(max(map(len, turns.values()), default=0)):
        wave = [rack[turn] for rack in turns.values() if turn < len(rack)]
        order += wave
        sizes += [len(wave[start : start + most]) for start in range(0, len(wave), most)]
    # Ansible does not accept an empty list of sizes.
    return {"order": order, "waves": sizes or [1]}


class FilterModule:
    """The class that Ansible loads."""

    def filters(self):
        """Returns the only filter."""
        return {"tailback_waves": waves}
