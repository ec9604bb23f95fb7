"""Reads TAP with a package of its own, and prints the results of the top-level tests of a file."""

import json
import sys

from tap.parser import Parser

results = []
planned = None
for line in Parser().parse_file(sys.argv[1]):
    if line.category == "plan" and planned is None:
        planned = line.expected_tests
    if line.category == "test":
        result = "skip" if line.skip else "ok" if line.ok else "not ok"
        results.append(result)
print(json.dumps({"planned": planned, "results": results}))
