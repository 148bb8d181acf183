#!/bin/sh
# Make the virtual environment that all else runs from: venv.sh FOLDER PYTHON
#
# Debian and Ubuntu split what `python3 -m venv` needs into a package of its own. It is the only
# system package that host.yml cannot install, since Ansible lives in the environment made here.
set -eu

venv=$1
python=$2

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

command -v "$python" >/dev/null || fail "$python is not there: install Python >= 3.11, or say" \
    "which one to use: make setup PYTHON=/path/to/python3"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$python is Python $version; SFCPerf needs >= 3.11: make setup PYTHON=python3.12"

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    package=python$version-venv
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        fail "$python cannot make virtual environments: install its venv module" \
            "(Debian, Ubuntu: sudo apt-get install $package) and try again"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o DPkg::Lock::Timeout=300 update
    apt-get -qq -o DPkg::Lock::Timeout=300 install --no-install-recommends -y "$package" >/dev/null
fi

# An environment knows its own place: one that was copied or moved is replaced, since its pip would
# install somewhere else.
if ! head -n 1 "$venv/bin/pip" 2>/dev/null | grep -qF "#!$venv/bin/" ||
    ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    "$python" -m venv --clear "$venv"
fi
