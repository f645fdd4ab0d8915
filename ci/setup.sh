# shellcheck shell=bash
# What ci/lockstep, ci/test and the other scripts share; to be sourced. The set-up itself is ci/set_up.py.

LOCKSTEP_HOME=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd -P)
export LOCKSTEP_HOME

say() { printf 'lockstep: %s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 3
}

# since START: the seconds since START, an $EPOCHREALTIME, with one decimal.
since() {
  local tenths=$(((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# provide_python: a python3, which the set-up is written in: installed for root on Debian.
provide_python() {
  command -v python3 >/dev/null && return
  command -v apt-get >/dev/null || fail "there is no python3: install 3.10 or newer, and put it on PATH."
  ((EUID == 0)) || fail "there is no python3. This brings it: sudo apt-get install -y python3"
  say "installing Debian's python3"
  { apt-get install -y --no-install-recommends python3 || { apt-get update && apt-get install -y --no-install-recommends python3; }; } \
    >/dev/null 2>&1 || fail "apt-get install python3 failed. Is there a network?"
}

# provide WHAT...: sets up parts of this clone (ci/set_up.py says which), and takes the variables that it tells.
provide() {
  local told
  provide_python
  told=$(python3 "$LOCKSTEP_HOME/ci/set_up.py" provide "$@") || return 3
  eval "$told"
  export LOCKSTEP_CACHE LOCKSTEP_PYTHON LOCKSTEP_COMMAND LOCKSTEP_EAGER LOCKSTEP_DASK LOCKSTEP_OPENVINO
}

# provide_binary: sets LOCKSTEP_PYTHON, LOCKSTEP_EAGER and LOCKSTEP_BINARY_DIR, a build's folder, unless the caller has one.
provide_binary() {
  [[ -z ${LOCKSTEP_BINARY_DIR:-} || -z ${LOCKSTEP_PYTHON:-} ]] || return 0
  provide packages torch build:release eager
  export LOCKSTEP_BINARY_DIR=$BUILD
}
