"""Runs docs/kcidb.sql in a folder with what census --parquet wrote and an inventory, holds what it
wrote to the schemas of KCIDB's own package, and prints how many tests have each status."""

import json
import os
import sys
from pathlib import Path

import duckdb
from kcidb_io import schema

query = (Path(__file__).resolve().parents[4] / "docs/kcidb.sql").read_text(encoding="utf-8")
os.chdir(sys.argv[1])
duckdb.sql(query)
with open("kcidb.json", encoding="utf-8") as file:
    data = json.load(file)

for version in [schema.V5_0, schema.LATEST]:
    version.validate(data)
    assert version.is_compatible(data)

ids = {kind: [one["id"] for one in data[kind]] for kind in ["checkouts", "builds", "tests"]}
for kind, names in ids.items():
    assert len(names) == len(set(names)), f"{kind} with the same id"
assert {build["checkout_id"] for build in data["builds"]} <= set(ids["checkouts"])
assert {test["build_id"] for test in data["tests"]} <= set(ids["builds"])
assert all(one["origin"] == "our_ci" for kind in ids for one in data[kind])

counts = {}
for test in data["tests"]:
    counts[test["status"]] = counts.get(test["status"], 0) + 1
print(json.dumps(counts))
