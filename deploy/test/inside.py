"""Runs one part of the tests, inside the namespaces that `engines` makes."""

import importlib
import subprocess
import sys
import traceback
from pathlib import Path

from lab.checks import Failed


def main(part, folder, cache, binary):
    """Runs the part in a tmpfs. Ends with 1 if a check fails."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "engines", folder], check=True)
    test = importlib.import_module(f"{part}_test")
    try:
        test.main(Path(folder), Path(cache), Path(binary))
    except Failed as failed:
        print(f"FAILED: {failed}", file=sys.stderr)
        return 1
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
