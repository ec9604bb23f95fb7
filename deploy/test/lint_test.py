"""Runs the checkers for the YAML, Python and playbooks of deploy/."""

import os
import subprocess
from pathlib import Path

from lab.checks import check, say

DEPLOY = Path(__file__).resolve().parent.parent


def run(*words, **more):
    """Runs a checker, which must find nothing."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, **more)
    check(done.returncode == 0, f"{words[0]}: {done.stdout}{done.stderr}")
    say(" ".join(str(word) for word in words[:2]))


def main(folder, _cache, binary):
    """Runs all checkers."""
    run("yamllint", "--strict", "-c", DEPLOY / ".yamllint", DEPLOY)
    run("ruff", "check", "--no-cache", "--config", DEPLOY / "test/ruff.toml", DEPLOY)
    library = folder / "library"
    library.mkdir()
    (library / "tailback").symlink_to(binary)
    environment = os.environ | {"ANSIBLE_CONFIG": str(DEPLOY / "ansible/ansible.cfg"),
                                "ANSIBLE_LIBRARY": str(library), "HOME": str(folder)}
    run("ansible-playbook", "--syntax-check", "-i", "inventory.example.yml", "census.yml",
        cwd=DEPLOY / "ansible", env=environment)
    run("ansible-lint", "--offline", "-q", "--nocolor", "census.yml", "roles",
        cwd=DEPLOY / "ansible", env=environment)
