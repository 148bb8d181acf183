#!/bin/sh
# Install the project in this folder, editable, with an extra: install.sh FOLDER EXTRA
#
# FOLDER is a virtual environment. uv takes a tenth of pip's time, but does not read pip's settings:
# those that say where packages come from are passed on.
set -eu

venv=$1
extra=$2

test -x "$venv/bin/uv" ||
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input 'uv>=0.13'

settings=$("$venv/bin/python" -m pip config list)
pass_on() {
    # The later scope wins.
    value=$(for scope in global install :env:; do
        printf '%s\n' "$settings" | sed -n "s/^$scope\.$1='\(.*\)'\$/\1/p"
    done | tail -n 1 | sed 's/\\n/ /g')
    test -z "$value" || export "$2=$value"
}
pass_on index-url UV_DEFAULT_INDEX
pass_on extra-index-url UV_INDEX
pass_on find-links UV_FIND_LINKS
pass_on cert SSL_CERT_FILE
export UV_SYSTEM_CERTS=1

exec "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --editable ".[$extra]"
