#!/bin/sh
# Tacker in a virtual environment over the distribution's OpenStack libraries: tacker.sh FOLDER PIP
#
# 8.0.0 is of the same release as Debian 12's OpenStack, and has the legacy API (VNFD, VNF, VNFFG)
# as well as ETSI's. The versions are chosen so that pip leaves the distribution's libraries alone.
set -eu

folder=$1
pip=$2
python=/usr/bin/python3

test ! -f "$folder/.complete" || exit 0
rm -rf "$folder"
"$python" -m venv --without-pip --system-site-packages "$folder"
# Registries refuse a download for a moment now and then.
for pause in 2 10 30 0; do
    PIP_FIND_LINKS='' "$pip" --python "$folder/bin/python" install --quiet --retries 5 \
        --disable-pip-version-check --no-input \
        'tacker==8.0.0' 'python-tackerclient==1.12.0' 'heat-translator==2.6.0' \
        'tosca-parser==2.7.0' 'kubernetes==25.3.0' 'wrapt<2' 'requests<2.29' 'urllib3<2' \
        'setuptools<70' 'pbr<6' 'stevedore<5' 'cliff<4.1' 'rfc3986<2' && break
    test "$pause" -gt 0 || {
        echo "openstack: cannot install Tacker; see what pip says above" >&2
        exit 1
    }
    sleep "$pause"
done
touch "$folder/.complete"
