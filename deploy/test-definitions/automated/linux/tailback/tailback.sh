#!/bin/sh
# Runs tailback and writes output/result.txt in the format of Linaro's test-definitions: a line for
# each scenario with pass, fail or skip. A study without a verdict is skipped.
# Usage: tailback.sh [-p PROGRAM] [-s SCENARIO,..] [-t TIME]

program=tailback scenarios='' time=120s
while getopts p:s:t: flag; do
    case $flag in
    p) program=$OPTARG ;;
    s) scenarios=$OPTARG ;;
    t) time=$OPTARG ;;
    *) echo "usage: $0 [-p PROGRAM] [-s SCENARIO,..] [-t TIME]" >&2 && exit 2 ;;
    esac
done

mkdir -p output
"$program" check --format ktap --undecided skip --time "$time" ${scenarios:+--only "$scenarios"} \
    >output/results.ktap
code=$?
cat output/results.ktap
# Results of scenarios start at the beginning of the line. Results of arms are indented.
awk '
    /^ok [0-9]+ .* # SKIP/ { print $3, "skip"; next }
    /^ok [0-9]+ /          { print $3, "pass" }
    /^not ok [0-9]+ /      { print $4, "fail" }
' output/results.ktap >output/result.txt
# A stall is a result. It is an error only if nothing could be run.
instead=skip
case $code in
0 | 1 | 4) code=0 ;;
*) instead=fail ;;
esac
if grep -q '^Bail out!' output/results.ktap; then
    code=1
    echo tailback fail >output/result.txt
fi
[ -s output/result.txt ] || echo "tailback $instead" >output/result.txt
exit "$code"
