# shellcheck shell=bash
# What ci/lockstep, ci/test and .ci/run share: find or make a Python with torch, the packages, the build.
# To be sourced. Stamps are written last, so that an interrupted set-up is never taken for a finished one.

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

# step WHAT LOG COMMAND...: runs the command quietly; on failure shows why and returns its status.
step() {
  local what=$1 log=$LOCKSTEP_CACHE/logs/$2 start=$EPOCHREALTIME status=0
  shift 2
  mkdir -p "${log%/*}"
  say "$what (tail -f $log)"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status == 0)); then
    say "  done in $(since "$start") s"
  else
    say "  FAILED after $(since "$start") s, exit status $status. From $log:"
    if grep -q '^FAILED:' "$log"; then
      sed -n '/^FAILED:/,$p' "$log" | head -n 60 >&2
    else
      tail -n 25 "$log" >&2
    fi
  fi
  return $status
}

# requirements FILE: sets REQUIREMENTS, and TORCH if the file names it. Pure bash: this is on the warm way.
requirements() {
  local line
  REQUIREMENTS=()
  while read -r line _; do
    case $line in
      '' | '#'*) ;;
      torch==*)
        TORCH=${LOCKSTEP_TORCH:-${line#torch==}}
        REQUIREMENTS+=("torch==$TORCH")
        ;;
      *) REQUIREMENTS+=("$line") ;;
    esac
  done <"$LOCKSTEP_HOME/ci/$1"
}

# resolve: reads the environment and the stamps; makes nothing, and starts no Python where it knows the answer.
# Sets LOCKSTEP_CACHE, LOCKSTEP_PYTHON, TORCH, KEY (of the torch), OURS (the interpreter is in a venv of ours),
# READY (it has all it needs), LOCKSTEP_COMMAND (what to type to call ci/lockstep from here with the same torch).
resolve() {
  LOCKSTEP_COMMAND=ci/lockstep
  [[ $PWD == "$LOCKSTEP_HOME" ]] || printf -v LOCKSTEP_COMMAND %q "$LOCKSTEP_HOME/ci/lockstep"
  LOCKSTEP_CACHE=${LOCKSTEP_CACHE:-$LOCKSTEP_HOME/.lockstep}
  [[ $LOCKSTEP_CACHE == /* ]] || LOCKSTEP_CACHE=$PWD/$LOCKSTEP_CACHE
  LOCKSTEP_PYTHON=${LOCKSTEP_PYTHON:-}
  if [[ $LOCKSTEP_PYTHON == "$LOCKSTEP_CACHE"/venv/torch-*-py*/bin/python ]]; then
    # We are called by something that we set up: this is our venv, not an interpreter of the user's.
    KEY=${LOCKSTEP_PYTHON#"$LOCKSTEP_CACHE"/venv/torch-}
    LOCKSTEP_TORCH=${LOCKSTEP_TORCH:-${KEY%-py*}}
    LOCKSTEP_PYTHON=
  fi
  local name
  for name in LOCKSTEP_PYTHON LOCKSTEP_TORCH; do
    [[ -z ${!name:-} ]] || printf -v LOCKSTEP_COMMAND '%s=%q %s' $name "${!name}" "$LOCKSTEP_COMMAND"
  done
  requirements requirements.txt
  if [[ -n $LOCKSTEP_PYTHON ]]; then
    resolve_theirs
  else
    resolve_ours
  fi
  export LOCKSTEP_CACHE LOCKSTEP_PYTHON LOCKSTEP_COMMAND
}

# A venv that an earlier call finished, if it still works and has what requirements.txt asks for now.
resolve_ours() {
  local ready
  OURS=yes READY=no KEY=
  for ready in "$LOCKSTEP_CACHE/venv/torch-$TORCH-py"*/.ready; do
    [[ -f $ready && -x ${ready%/.ready}/bin/python && $(<"$ready") == "${REQUIREMENTS[*]}" ]] || continue
    READY=yes KEY=${ready%/.ready}
    LOCKSTEP_PYTHON=$KEY/bin/python KEY=${KEY##*/}
    break
  done
}

# The user's interpreter: where its torch is, is remembered by the interpreter's path; its version is read anew.
resolve_theirs() {
  local path hash memo version folder
  OURS=no READY=yes
  path=$(command -v "$LOCKSTEP_PYTHON") || fail "LOCKSTEP_PYTHON=$LOCKSTEP_PYTHON is not a program."
  [[ $path == /* ]] || path=$PWD/${path#./}
  LOCKSTEP_PYTHON=$path
  hash=$(cksum <<<"$path")
  printf -v hash '%08x' "${hash%% *}"
  memo=$LOCKSTEP_CACHE/python/$hash
  [[ -f $memo ]] && folder=$(<"$memo")
  if [[ ! -f ${folder:-}/version.py ]]; then
    local facts
    facts=$("$path" "$LOCKSTEP_HOME/ci/find_torch.py") ||
      fail "Give LOCKSTEP_PYTHON an interpreter that has torch, or unset it to let $0 install torch."
    mapfile -t facts <<<"$facts"
    folder=${facts[0]}
    mkdir -p "${memo%/*}"
    printf '%s\n' "$folder" >"$memo.new" && mv "$memo.new" "$memo"
    [[ ${facts[4]} == yes ]] || say "warning: $path has no Python.h, which Inductor's C++ wrapper includes."
  fi
  version=$(<"$folder/version.py")
  [[ $version =~ __version__[^=]*=\ *[\'\"]([^\'\"]+) ]] || fail "$folder/version.py names no version."
  # Interpreters that have the same torch, such as several environments over one, share a build.
  TORCH=${BASH_REMATCH[1]} hash=$(cksum <<<"$folder")
  printf -v hash '%08x' "${hash%% *}"
  KEY=torch-$TORCH-$hash
  if [[ -n ${LOCKSTEP_TORCH:-} && ${TORCH%%+*} != "${LOCKSTEP_TORCH%%+*}" ]]; then
    fail "LOCKSTEP_TORCH asks for $LOCKSTEP_TORCH, but LOCKSTEP_PYTHON=$path has $TORCH: unset one of them."
  fi
}

# plan_build PRESET: sets BUILD, its folder, and WANT, which says what it is a build of.
plan_build() {
  case $1 in
    core | asan | fuzz) BUILD=$LOCKSTEP_CACHE/build/$1 WANT=no-torch ;;
    *) BUILD=$LOCKSTEP_CACHE/build/$1-$KEY WANT=$KEY ;;
  esac
  WANT="$LOCKSTEP_HOME $LOCKSTEP_CACHE $WANT prefix=${LOCKSTEP_PREFIX:-} ${CXX:-} ${CXXFLAGS:-} ${LDFLAGS:-}"
}

# built: whether BUILD is up to date. Folders count, because their times change when files come and go.
built() {
  [[ -f $BUILD/.built && $(<"$BUILD/.built") == "$WANT" ]] || return 1
  local newer
  newer=$(cd "$LOCKSTEP_HOME" && find CMakeLists.txt CMakePresets.json ci/cmake runner reports \
    -name __pycache__ -prune -o ! -name '*.py' ! -name '*.md' -newer "$BUILD/.built" -print -quit) || return 1
  [[ -z $newer ]]
}

# locked COMMAND...: runs it while no other set-up runs on this cache.
locked() {
  local lock status=0
  mkdir -p "$LOCKSTEP_CACHE" || fail "Choose another LOCKSTEP_CACHE, one that you may write."
  exec {lock}>"$LOCKSTEP_CACHE/setup.lock"
  flock -n "$lock" || {
    say "waiting for another set-up that uses $LOCKSTEP_CACHE"
    flock "$lock"
  }
  "$@" || status=$?
  exec {lock}>&-
  return $status
}

# has PROBE: whether a command, a header or something of Python's is there.
has() {
  case $1 in
    python3:*)
      # A user's own interpreter needs no venv, and no Debian package would give it Python.h.
      [[ $OURS == no ]] && return
      case $1 in
        *:ensurepip) python3 -c 'import ensurepip, venv' ;;
        *) python3 -c 'import os, sysconfig as s; os.stat(s.get_paths()["include"] + "/Python.h")' ;;
      esac >/dev/null 2>&1
      ;;
    *.h | *.hpp)
      [[ -f ${LOCKSTEP_PREFIX:-/usr}/include/$1 || -f /usr/include/$1 || -f /usr/local/include/$1 ]]
      ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# provide_packages FILE...: installs what is missing (root on Debian), or says how to.
provide_packages() {
  local file package probe missing=() probes=()
  for file in "$@"; do
    while read -r package _ probe _; do
      [[ -z $package || $package == '#'* ]] && continue
      has "$probe" && continue
      missing+=("$package") probes+=("$probe")
    done <"$LOCKSTEP_HOME/ci/$file"
  done
  ((${#missing[@]})) || return 0
  if ! command -v apt-get >/dev/null; then
    fail "missing: ${probes[*]}. Install them (ci/packages.txt has their Debian names), or set LOCKSTEP_PREFIX" \
      "to a prefix that has them in include/ and lib/."
  elif ((EUID != 0)); then
    say "missing: ${probes[*]}. This brings them:"
    say "  sudo apt-get install -y ${missing[*]}"
    fail "(They may also lie in include/ and lib/ of a prefix of your own: set LOCKSTEP_PREFIX.)"
  fi
  # The lists of a fresh container are empty, and those of an old one name files that are gone.
  step "installing Debian packages: ${missing[*]}" apt.log apt_install "${missing[@]}" ||
    fail "Is there a network? Otherwise set LOCKSTEP_PREFIX to a prefix that has them in include/ and lib/."
}

apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  local install=(apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@")
  "${install[@]}" || { apt-get update && "${install[@]}"; }
}

# provide_torch: a venv with torch, unless the user brought an interpreter.
provide_torch() {
  resolve_again
  [[ $READY == yes ]] && return
  local python venv
  command -v python3 >/dev/null || fail "there is no python3: put one (3.10 or newer) on PATH, or set LOCKSTEP_PYTHON."
  python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if ((${python#3.} < 10)); then
    fail "python3 is $python, but 3.10 or newer is needed: put one first on PATH, or set LOCKSTEP_PYTHON."
  fi
  KEY=torch-$TORCH-py$python
  venv=$LOCKSTEP_CACHE/venv/$KEY
  rm -f "$venv/.ready"
  step "making a place for torch in $venv" venv.log python3 -m venv --clear "$venv" ||
    fail "On Debian, venv is a package of its own: apt-get install python3-venv"
  LOCKSTEP_PYTHON=$venv/bin/python
  requirements requirements.txt
  pip_install "torch $TORCH" torch-"$TORCH".log "${REQUIREMENTS[@]}"
  "$LOCKSTEP_PYTHON" "$LOCKSTEP_HOME/ci/find_torch.py" >/dev/null || fail "pip installed no torch into $venv."
  printf '%s\n' "${REQUIREMENTS[*]}" >"$venv/.ready"
  READY=yes
}

# Once the lock is held: another set-up may have done it all while we waited.
resolve_again() {
  if [[ $OURS == yes ]]; then resolve_ours; fi
}

# pip_install WHAT LOG REQUIREMENT...
pip_install() {
  local what=$1 log=$2
  shift 2
  step "installing $what with pip" "$log" "$LOCKSTEP_PYTHON" -m pip install --no-input --progress-bar off "$@" && return
  if grep -q 'No matching distribution found for torch' "$LOCKSTEP_CACHE/logs/$log"; then
    say "pip knows no torch $TORCH for $("$LOCKSTEP_PYTHON" -V) on $(uname -m), or reached no index."
  fi
  say "The whole log: $LOCKSTEP_CACHE/logs/$log"
  say "What can help:"
  say "  the network, or pip's own settings (PIP_INDEX_URL, PIP_FIND_LINKS, PIP_PROXY), then the same command again;"
  say "  LOCKSTEP_TORCH=VERSION, for a release that is there for this Python;"
  fail "  LOCKSTEP_PYTHON=/path/to/python, an interpreter that has torch already."
}

# provide_test_packages: what the Python tests import; an example's packages are named by the example.
provide_test_packages() {
  local ready=${LOCKSTEP_PYTHON%/bin/*}/.ready-test requirement wanted npm
  requirements packages-npm.txt
  npm=("${REQUIREMENTS[@]}")
  requirements ../examples/onnxruntime/requirements.txt
  wanted=("${REQUIREMENTS[@]}")
  requirements requirements-test.txt
  wanted+=("${REQUIREMENTS[@]}")
  if [[ $OURS == yes ]]; then
    [[ -f $ready && $(<"$ready") == "${wanted[*]} ${npm[*]}" ]] && return
    pip_install "the test packages" pip-test.log "${wanted[@]}"
    provide_npm_packages "${npm[@]}"
    printf '%s\n' "${wanted[*]} ${npm[*]}" >"$ready"
  else
    for requirement in "${wanted[@]}"; do
      "$LOCKSTEP_PYTHON" -c "import importlib.metadata as m; m.version('${requirement%%==*}')" 2>/dev/null ||
        say "warning: $LOCKSTEP_PYTHON lacks ${requirement%%==*}; tests that import it will fail or be skipped."
    done
  fi
}

# provide_npm_packages PACKAGE...: what the tests need of npm, into the venv; where no registry is reached, they do without.
provide_npm_packages() {
  local bin=${LOCKSTEP_PYTHON%/*}
  PATH=$bin:$PATH step "installing $* with npm" npm.log "$bin/npm" install --prefix "${bin%/bin}/npm" --no-audit --no-fund \
    --no-save "$@" || say "warning: tests that need $* will be skipped."
}

# provide_dask: sets LOCKSTEP_DASK, an interpreter that has Dask: the user's, or one in a venv of its own.
provide_dask() {
  [[ -z ${LOCKSTEP_DASK:-} ]] || return 0
  export LOCKSTEP_DASK=$LOCKSTEP_CACHE/dask/bin/python
  requirements requirements-dask.txt
  dask_is_ready || locked install_dask
}

dask_is_ready() {
  local ready=$LOCKSTEP_CACHE/dask/.ready
  [[ -f $ready && -x $LOCKSTEP_DASK && $(<"$ready") == "${REQUIREMENTS[*]}" ]]
}

install_dask() {
  dask_is_ready && return  # another one did, while we waited
  step "making a place for Dask in $LOCKSTEP_CACHE/dask" venv-dask.log python3 -m venv --clear "$LOCKSTEP_CACHE/dask" ||
    fail "On Debian, venv is a package of its own: apt-get install python3-venv"
  step "installing ${REQUIREMENTS[*]} with pip" pip-dask.log \
    "$LOCKSTEP_DASK" -m pip install --no-input --progress-bar off "${REQUIREMENTS[@]}" ||
    fail "LOCKSTEP_DASK=/path/to/python, an interpreter that has \`distributed\`, does without."
  printf '%s\n' "${REQUIREMENTS[*]}" >"$LOCKSTEP_CACHE/dask/.ready"
}

# provide_openvino: sets LOCKSTEP_OPENVINO, a folder for PYTHONPATH that has the packages of ../examples/openvino: beside torch's
# environment, which stays as it is, and one for each Python, since they have modules in C++.
provide_openvino() {
  [[ -z ${LOCKSTEP_OPENVINO:-} ]] || return 0
  export LOCKSTEP_OPENVINO=$LOCKSTEP_CACHE/openvino/${KEY##*-}
  requirements ../examples/openvino/requirements.txt
  openvino_is_ready || locked install_openvino
}

openvino_is_ready() {
  [[ -f $LOCKSTEP_OPENVINO/.ready && $(<"$LOCKSTEP_OPENVINO/.ready") == "${REQUIREMENTS[*]}" ]]
}

install_openvino() {
  openvino_is_ready && return  # another one did, while we waited
  rm -rf "$LOCKSTEP_OPENVINO"
  # Without what they depend on: NumPy is where torch is, and a second one must not come before it.
  step "installing ${REQUIREMENTS[*]} with pip" pip-openvino.log \
    "$LOCKSTEP_PYTHON" -m pip install --no-input --progress-bar off --no-deps --target "$LOCKSTEP_OPENVINO" "${REQUIREMENTS[@]}" ||
    fail "LOCKSTEP_OPENVINO=DIR, a folder that has them, does without."
  printf '%s\n' "${REQUIREMENTS[*]}" >"$LOCKSTEP_OPENVINO/.ready"
}

# build PRESET: configures and builds what changed.
build() {
  plan_build "$1"
  built && return
  local fresh=() configured=$BUILD/.configured
  mkdir -p "$BUILD"
  if [[ ! -f $configured || $(<"$configured") != "$WANT" ]]; then
    rm -f "$configured" "$BUILD/.built"
    fresh=(--fresh)
  fi
  # As old as the start of the build, so that what is edited meanwhile is newer.
  printf '%s\n' "$WANT" >"$BUILD/.building"
  step "configuring ${BUILD##*/}" "configure-${BUILD##*/}.log" \
    cmake -S "$LOCKSTEP_HOME" --preset "$1" -B "$BUILD" "${fresh[@]}" \
    -DLOCKSTEP_PYTHON="$LOCKSTEP_PYTHON" -DLOCKSTEP_PREFIX="${LOCKSTEP_PREFIX:-}" || {
    say "CMake 3.25 and g++ 11 or newer are needed; found: $(cmake --version | head -n 1), $(g++ --version | head -n 1)."
    return 3
  }
  printf '%s\n' "$WANT" >"$configured"
  step "building ${BUILD##*/}" "build-${BUILD##*/}.log" cmake --build "$BUILD" || {
    say "If the compiler was killed for want of memory: CMAKE_BUILD_PARALLEL_LEVEL=1 $0 …"
    return 3
  }
  mv "$BUILD/.building" "$BUILD/.built"
}

# set_up_build PRESET: all that a build takes.
set_up_build() {
  provide_packages packages.txt
  provide_torch
  build "$1" || exit 3
}

# provide_build: a build that is up to date; sets what `resolve` and `plan_build` do.
provide_build() {
  local preset=${LOCKSTEP_PRESET:-release}
  resolve
  plan_build "$preset"
  if [[ $READY == no ]] || ! built; then
    locked set_up_build "$preset"
  fi
}

# provide_binary: sets LOCKSTEP_PYTHON and LOCKSTEP_BINARY_DIR, the folder of such a build, unless the caller has one.
provide_binary() {
  [[ -z ${LOCKSTEP_BINARY_DIR:-} || -z ${LOCKSTEP_PYTHON:-} ]] || return 0
  provide_build
  export LOCKSTEP_BINARY_DIR=$BUILD
}
