#!/usr/bin/env bash
# Installs $REQUIREMENT by pip: beside the torch of $PYTHON, or with torch $TORCH (empty: the newest) into $ENVIRONMENT.
# Tells the steps behind it which interpreter has it.
set -euo pipefail

if [[ -n ${PYTHON:-} ]]; then
  "$PYTHON" -m pip install --no-input "$REQUIREMENT"
else
  [[ -x $ENVIRONMENT/bin/python ]] || python3 -m venv "$ENVIRONMENT"
  PYTHON=$ENVIRONMENT/bin/python
  "$PYTHON" -m pip install --no-input "torch${TORCH:+==$TORCH}" "$REQUIREMENT"
fi
printf 'python=%s\n' "$PYTHON" >>"$GITHUB_OUTPUT"
