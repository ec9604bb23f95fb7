"""Reads the folder that census --parquet wrote with three programs, each by the query of
docs/fleet.md, and prints what each found as a line of JSON."""

import json
import sys
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

folder = sys.argv[1]
SETTLED = ["affected", "not-affected"]


def with_duckdb():
    rows = duckdb.sql(f"""
        SELECT kernel_series, count(*) FILTER (state = 'affected') AS affected, count(*) AS hosts
        FROM read_parquet('{folder}/verdicts/**/*.parquet', hive_partitioning = true)
        WHERE scenario = 'mmap-lock' AND state IN ('affected', 'not-affected')
        GROUP BY kernel_series ORDER BY affected / hosts DESC
    """).fetchall()
    trials = duckdb.sql(f"""
        SELECT arm, count(*), median(value), any_value(unit), min(started) = max(started)
        FROM read_parquet('{folder}/trials/**/*.parquet', hive_partitioning = true)
        GROUP BY arm ORDER BY arm
    """).fetchall()
    types = dict(duckdb.sql(f"""
        SELECT column_name, column_type FROM (DESCRIBE
        FROM read_parquet('{folder}/verdicts/**/*.parquet', hive_partitioning = true))
    """).fetchall())
    assert types["started"] == "TIMESTAMP WITH TIME ZONE", types
    assert types["kernel_series"] == "VARCHAR" and types["shift"] == "DOUBLE", types
    assert types["hz"] == "INTEGER" and types["virtualised"] == "BOOLEAN", types
    return rows, trials


def with_polars():
    verdicts = pl.scan_parquet(f"{folder}/verdicts", hive_partitioning=True)
    rows = (
        verdicts.filter(pl.col("scenario") == "mmap-lock", pl.col("state").is_in(SETTLED))
        .group_by("kernel_series")
        .agg((pl.col("state") == "affected").sum().alias("affected"), pl.len().alias("hosts"))
        .sort(pl.col("affected") / pl.col("hosts"), descending=True)
        .collect()
    )
    schema = verdicts.collect_schema()
    assert schema["started"] == pl.Datetime("ms", "UTC"), schema
    assert schema["kernel_series"] == pl.String and schema["shift"] == pl.Float64, schema
    trials = (
        pl.scan_parquet(f"{folder}/trials", hive_partitioning=True)
        .group_by("arm")
        .agg(
            pl.len(),
            pl.col("value").median(),
            pl.col("unit").first(),
            pl.col("started").min() == pl.col("started").max(),
        )
        .sort("arm")
        .collect()
    )
    return rows.rows(), trials.rows()


def with_pyarrow():
    table = ds.dataset(f"{folder}/verdicts", partitioning="hive").to_table(
        filter=(pc.field("scenario") == "mmap-lock") & pc.field("state").isin(SETTLED)
    )
    assert table.schema.field("started").type == pa.timestamp("ms", tz="UTC"), table.schema
    assert not table.schema.field("host").nullable, table.schema
    affected = pc.cast(pc.equal(table["state"], "affected"), pa.int64())
    counts = table.append_column("affected", affected).group_by("kernel_series")
    counts = counts.aggregate([("affected", "sum"), ("affected", "count")]).to_pylist()
    rows = [(c["kernel_series"], c["affected_sum"], c["affected_count"]) for c in counts]
    rows.sort(key=lambda row: -row[1] / row[2])
    trials = ds.dataset(f"{folder}/trials", partitioning="hive").to_table()
    arms = []
    for arm in sorted(set(trials["arm"].to_pylist())):
        own = trials.filter(pc.equal(trials["arm"], arm))
        ends = pc.min_max(own["started"]).as_py()
        middle = pc.quantile(own["value"], 0.5)[0].as_py()
        arms.append((arm, len(own), middle, own["unit"][0].as_py(), ends["min"] == ends["max"]))
    return rows, arms


for name, read in [("duckdb", with_duckdb), ("polars", with_polars), ("pyarrow", with_pyarrow)]:
    rows, trials = read()
    print(json.dumps({"by": name, "rows": rows, "trials": trials}))

assert json.loads(Path(folder, "_tailback.json").read_text())["schema"] == "tailback/rows/1"
