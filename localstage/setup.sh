#!/bin/sh
# Makes the Python environment that every make target uses: .venv/, from the lock files alone.
# Never prompts: as root on Debian or Ubuntu it installs missing packages, elsewhere it prints the command to run.
set -eu
say() { echo "headrace: $*" >&2; }
stop() { say "$*"; exit 1; }

locks="requirements/uv.txt requirements/dev.txt"
wanted=$(cat $locks | cksum)
is_ready() { [ "$(cat .venv/.headrace 2>/dev/null || true)" = "$wanted" ]; }
is_ready && exit 0

python=${PYTHON:-python3}
command -v "$python" >/dev/null 2>&1 || stop "Python 3.11 or newer is missing. Run: apt-get install python3 python3-venv"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  stop "$("$python" --version) is too old, 3.11 or newer is needed. Choose another with: make run PYTHON=/path/to/python3"

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  package=$("$python" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])')
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing $package with apt-get"
    if [ -t 0 ]; then say "it begins in 5 s; Ctrl-C prevents it"; sleep 5; fi
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null
  else
    stop "Python's venv module is missing. Run: sudo apt-get install $package"
  fi
fi

# Ctrl-C reaches what runs here too, and Python would print where it was.
trap 'say "interrupted; run it again"; exit 130' INT

# One at a time: a second command waits here until the first has made .venv. The lock ends with this shell.
exec 9>.setup.lock
"$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' 2>/dev/null
is_ready && exit 0

say "setting up .venv (once; about half a minute)"
# .venv/.headrace is written last, so that an interrupted setup is repeated.
rm -f .venv/.headrace
problem=$("$python" -m venv --clear .venv 2>&1) || { echo "$problem" >&2; stop "Python could not make .venv"; }
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt 2>.venv/pip.log ||
  { tail -n 5 .venv/pip.log >&2; stop "pip could not install uv: the lines above say why"; }
VIRTUAL_ENV=$PWD/.venv .venv/bin/uv pip install --quiet --require-hashes -r requirements/dev.txt ||
  stop "the packages of requirements/dev.txt could not be installed: the lines above say why"
echo "$wanted" >.venv/.headrace
