"""Reads KTAP with the parser of Linux (tools/testing/kunit), which stands in the folder that is named
first, and prints each test of a file with its result, and those below it."""

import contextlib
import io
import json
import sys

sys.path.insert(0, sys.argv[1])


def shown(test):
    return {
        "name": test.name,
        "status": test.status.name,
        "below": [shown(one) for one in test.subtests],
    }


with open(sys.argv[2], encoding="utf-8") as file, contextlib.redirect_stdout(io.StringIO()):
    # It binds what it prints to when it is imported.
    import kunit_parser

    whole = kunit_parser.parse_run_tests(line.rstrip("\n") for line in file)
print(json.dumps({"errors": whole.counts.errors, "tests": shown(whole)["below"]}))
