#!/bin/sh
# The oldest kernel that the README names, for tests in an emulator: oldest-kernel.sh FOLDER VERSION
#
# It is the distribution's own package, had and checked by apt, and unpacked below the folder; it is
# not installed. Distributions that have another kernel, and other processors, go without.
set -eu

folder=$1
version=$2
package=linux-image-cloud-amd64

fail() {
    printf 'servers: %s\n' "$@" >&2
    exit 1
}

# Prints the package that the metapackage stands for, when it is of the version.
candidate() {
    LC_ALL=C apt-cache show --no-all-versions "$package" 2>/dev/null |
        sed -n "s/^Depends: \(linux-image-$version\.[^ ]*\).*/\1/p" | head -n 1
}

fetch() {
    name=$(candidate)
    test -n "$name" && (cd "$work" && apt-get -qq -o APT::Sandbox::User=root -o Acquire::Retries=3 download "$name")
}

for complete in "$folder/linux-$version".*/.complete; do
    test ! -f "$complete" || exit 0
done
. /etc/os-release
if [ "$ID ${VERSION_ID-}" != "debian 12" ] || [ "$(dpkg --print-architecture)" != amd64 ]; then
    echo "servers: no Linux $version for tests: Debian 12 (amd64) has it, this is ${PRETTY_NAME-$ID}"
    exit 0
fi

umask 022
mkdir -p "$folder"
work=$(mktemp -d "$folder/.unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Lists of packages may be absent or older than the archive.
fetch 2>/dev/null || {
    test "$(id -u)" -ne 0 || apt-get -qq update || :
    fetch || fail "cannot get the package of Linux $version from the archives that apt knows" \
        "see what apt-get says above; as root: apt-get update && apt-get download $package"
}
deb=$(basename "$work"/*.deb)
dpkg-deb --extract "$work/$deb" "$work/kernel"
release=$(basename "$work"/kernel/boot/vmlinuz-* | sed 's/^vmlinuz-//')
touch "$work/kernel/.complete"
rm -rf "${folder:?}/linux-$release"
mv "$work/kernel" "$folder/linux-$release"
