#!/bin/sh
# Provokes each stall that tailback knows and that can be provoked here, and prints KTAP. `not ok`
# means that work that is ready to run stands still on this kernel. A study without a verdict is
# skipped, because that is not a failure of the kernel. Exit codes: 0 no stall, 1 a stall, 4
# skipped.

tailback=${TAILBACK:-tailback}
if ! command -v "$tailback" >/dev/null; then
    echo "KTAP version 1"
    echo "1..0 # SKIP $tailback is not installed; TAILBACK=FILE names it"
    exit 4
fi
exec "$tailback" check --format ktap --undecided skip "$@"
