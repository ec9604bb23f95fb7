-- DuckDB: writes kcidb.json, schema 5.0 of KCIDB, for kcidb-io. Needs, in the working folder, what
-- `tailback census fleet/ --parquet rows` wrote, and `inventory` with one host name per line.
-- Replace our_ci by the name of the CI system.
SET TimeZone = 'UTC';
CREATE TABLE answers AS
SELECT host, state, scenario, started, version, file, shift, shift_unit,
  coalesce(kernel, 'unknown') AS release, coalesce(arch, 'unknown') AS machine
FROM read_parquet('rows/verdicts/**/*.parquet', hive_partitioning = true);
-- Hosts without a record
INSERT INTO answers BY NAME
SELECT column0 AS host, 'unreachable' AS state, 'unknown' AS release, 'unknown' AS machine
FROM read_csv('inventory', header = false) WHERE column0 NOT IN (SELECT host FROM answers);
COPY (SELECT {major: 5, minor: 0} AS version,
  (SELECT list(DISTINCT {id: 'our_ci:' || release, origin: 'our_ci'}) FROM answers) AS checkouts,
  (SELECT list(DISTINCT {id: concat('our_ci:', release, '/', machine), origin: 'our_ci',
      checkout_id: 'our_ci:' || release, architecture: machine}) FROM answers) AS builds,
  (SELECT list({id: concat_ws('/', 'our_ci:' || coalesce(scenario, state), epoch_ms(started), host),
      origin: 'our_ci', build_id: concat('our_ci:', release, '/', machine),
      path: concat_ws('.', 'tailback', scenario),
      start_time: strftime(coalesce(started, now()), '%Y-%m-%dT%H:%M:%SZ'),
      status: CASE state WHEN 'affected' THEN 'FAIL' WHEN 'untrustworthy' THEN 'ERROR'
        WHEN 'unreachable' THEN 'MISS' WHEN 'not-affected' THEN 'PASS'
        WHEN 'inconclusive' THEN 'DONE' ELSE 'SKIP' END,
      environment: {comment: host},
      misc: {state: state, version: version, file: file, shift: shift, unit: shift_unit}})
    FROM answers) AS tests
) TO 'kcidb.json' (FORMAT json);
