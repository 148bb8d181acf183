#!/bin/sh
# Writes socat.tar, a container image with socat and the Debian packages that it depends on.
# Needs apt, dpkg and umoci; no daemon, and no rights beyond those of a user.
set -eu
package=socat
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
depends="apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks"
# The names of packages stand at the beginning of a line. Root may write to the folder, user _apt not.
apt-get -o APT::Sandbox::User=root download $($depends --no-replaces --no-enhances "$package" | grep '^[a-z]') >/dev/null
for deb in *.deb; do dpkg -x "$deb" root; done
image=layout:$package
umoci init --layout layout
umoci new --image "$image"
umoci insert --rootless --image "$image" root /
umoci config --image "$image" --config.entrypoint "$package"
umoci gc --layout layout
tar -C layout -cf "$here/$package.tar" .
echo "$here/$package.tar"
