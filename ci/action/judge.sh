#!/usr/bin/env bash
# What the action runs with the Lockstep of $PYTHON: $COMMAND with $ARGUMENTS (one a line) into $OUT, then the gate against $BASELINE. The inputs come as
# environment variables and never as text of a script, so nothing in them is executed.
set -euo pipefail

# lines TEXT: sets LINES_OF to its lines but for empty ones.
lines() {
  local line
  LINES_OF=()
  while IFS= read -r line; do
    [[ -z $line ]] || LINES_OF+=("$line")
  done <<<"$1"
}

[[ $COMMAND == run || $COMMAND == merge ]] || {
  echo "::error::the action's input command is $COMMAND, expected run or merge"
  exit 2
}
[[ $FAILING == fails || $FAILING == passes ]] || {
  echo "::error::the action's input failing is $FAILING, expected fails or passes"
  exit 2
}
status=0 closed=0
lines "${ARGUMENTS:-}"
"$PYTHON" -m lockstep "$COMMAND" "${LINES_OF[@]}" --out "$OUT" || status=$?
if ((status <= 1)) && [[ -n ${BASELINE:-} ]]; then
  lines "${GATE_ARGUMENTS:-}"
  "$PYTHON" -m lockstep gate "$BASELINE" "$OUT" --html "$OUT/gate.html" --junit "$OUT/gate.xml" --summary "$OUT/gate.md" \
    "${LINES_OF[@]}" || closed=$?
  [[ ! -f $OUT/gate.md ]] || cat "$OUT/gate.md" >>"$GITHUB_STEP_SUMMARY"
fi
printf 'directory=%s\nexit-status=%s\n' "$OUT" $((closed > status ? closed : status)) >>"$GITHUB_OUTPUT"
# Verdicts that fail may pass; a closed gate never does.
[[ $FAILING == fails ]] || ((status > 1)) || status=0
exit $((closed > status ? closed : status))
