#!/bin/sh
# Install the project in this folder, editable, with an extra: install.sh FOLDER EXTRA
#
# FOLDER is a virtual environment. uv takes a fraction of pip's time, but reads none of pip's
# settings: where these name a registry or a proxy, pip installs.
set -eu

venv=$1
extra=$2

pip_install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$@"
}

settings=$("$venv/bin/python" -m pip config list)
if printf '%s\n' "$settings" |
    grep -Eq '\.(index-url|extra-index-url|no-index|proxy|trusted-host|client-cert|constraint)='; then
    pip_install --editable ".[$extra]"
    exit
fi

# The later scope wins, if it is not empty.
setting() {
    for scope in global install :env:; do
        printf '%s\n' "$settings" | sed -n "s/^$scope\.$1='\(..*\)'\$/\1/p"
    done | tail -n 1
}
links=$(setting find-links | sed 's/\\n\| /,/g')
cert=$(setting cert)
test -z "$links" || export UV_FIND_LINKS="$links"
test -z "$cert" || export SSL_CERT_FILE="$cert"
# A cache in somebody else's home would be in that user's way.
test -O "${HOME-}" || export UV_NO_CACHE=1
# As pip does: users who cannot write there would compile with every command.
export UV_COMPILE_BYTECODE=1 UV_SYSTEM_CERTS=1

pip_install 'uv>=0.13'
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --editable ".[$extra]"
