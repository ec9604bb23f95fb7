"""Downloads what the hosts need before they are made, because their network is isolated."""

import sys
from pathlib import Path

from . import kernels, roots

if __name__ == "__main__":
    cache = Path(sys.argv[1])
    roots.base(cache)
    roots.with_slurm(cache)
    for which in kernels.SUITES:
        kernels.fetch(cache, which)
