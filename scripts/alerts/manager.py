"""Runs Debian's Alertmanager with the rules of deploy/prometheus, and programs beside it."""

import json
import socket
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def tools():
    """The folder of Prometheus and Alertmanager."""
    found = subprocess.run([ROOT / "scripts/need-prometheus"], check=True, text=True,
                           stdout=subprocess.PIPE)
    return Path(found.stdout.strip())


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(words, **more):
    """Starts a program that ends with this one."""
    words = ["setpriv", "--pdeathsig", "KILL", *map(str, words)]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, **more)


def inhibit_rules():
    """The rules of deploy/prometheus, as text, because Alertmanager reads YAML."""
    text = (ROOT / "deploy/prometheus/alertmanager.inhibit.yml").read_text()
    return text[text.index("inhibit_rules:"):]


def alertmanager(folder, work, hook):
    """Starts Alertmanager. Returns its address. It posts its alerts to the port `hook`."""
    config = {
        "route": {"receiver": "hook", "group_wait": "0s", "group_interval": "1s",
                  "repeat_interval": "1h", "group_by": ["..."]},
        "receivers": [{"name": "hook", "webhook_configs": [
            {"url": f"http://127.0.0.1:{hook}/", "send_resolved": True}]}],
    }
    config = "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())
    (work / "alertmanager.yml").write_text(config + inhibit_rules())
    port = free_port()
    # Alertmanager looks for its templates in /usr/share.
    mounted = 'mount --bind "$0" /usr/share && exec "$@"'
    start(["unshare", "--mount", "sh", "-c", mounted, folder / "share",
           folder / "bin/prometheus-alertmanager", f"--config.file={work}/alertmanager.yml",
           f"--storage.path={work}/alerts", f"--web.listen-address=127.0.0.1:{port}",
           "--cluster.listen-address="],
          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=work)
    return f"127.0.0.1:{port}"
