#!/usr/bin/env bash
# What ci/recipes/Jenkinsfile runs, from the workspace's root:
#   jenkins.sh shard 2 4   the second of four shards of $LEVEL, into shards/2
#   jenkins.sh report      puts the shards together in whole-run; gates against baseline/whole-run where it is
# Verdicts that fail fail the report alone: a shard that fails would hide the others.
set -euo pipefail

status=0
case ${1:-} in
  shard)
    rm -rf "shards/$2"
    ci/lockstep run --level "${LEVEL:-core}" --shard "$2/$3" --out "shards/$2" || status=$?
    ((status > 1)) || status=0
    ;;
  report)
    rm -rf whole-run
    ci/lockstep merge shards/* --out whole-run || status=$?
    if ((status <= 1)) && [[ -f baseline/whole-run/run.jsonl ]]; then
      ci/lockstep gate baseline/whole-run whole-run --html gate.html --junit gate.xml --summary gate.md || status=$?
    fi
    ;;
  *)
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
exit "$status"
