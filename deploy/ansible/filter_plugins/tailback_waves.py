"""In which order hosts are measured, so that those of one rack are never measured at once."""


def waves(hosts, hostvars, at_once):
    """The hosts in the order of their waves, and the size of each wave.

    The n-th wave has the n-th host of each rack. A wave of more than `at_once` hosts is several.
    """
    turns = {}
    for host in hosts:
        rack = hostvars[host].get("tailback_rack")
        # A host without a rack is one of its own; a rack may be called as a host is.
        key = ("host", host) if rack is None else ("rack", str(rack))
        turns.setdefault(key, []).append(host)
    order, sizes = [], []
    most = max(1, int(at_once))
    for turn in range(max(map(len, turns.values()), default=0)):
        wave = [rack[turn] for rack in turns.values() if turn < len(rack)]
        order += wave
        sizes += [len(wave[start : start + most]) for start in range(0, len(wave), most)]
    # An empty list is no size that Ansible takes.
    return {"order": order, "waves": sizes or [1]}


class FilterModule:
    """What Ansible loads."""

    def filters(self):
        """The one filter."""
        return {"tailback_waves": waves}
