#!/bin/sh
# Mermaid, which draws the diagrams of the documentation: mermaid.sh FOLDER VERSION
#
# It comes from Maven Central (a WebJar), checked by Maven against its checksum, and becomes part of
# the site: readers load nothing from elsewhere.
set -eu

folder=$1
version=$2

fail() {
    printf 'docs: %s\n' "$@" >&2
    exit 1
}

test ! -f "$folder/mermaid-$version.min.js" || exit 0
for tool in mvn unzip java; do
    command -v "$tool" >/dev/null ||
        fail "$tool is not there (Debian, Ubuntu: sudo apt-get install maven unzip)"
done

umask 022
mkdir -p "$folder"
work=$(mktemp -d "$folder/.unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
mvn --quiet --batch-mode --no-transfer-progress --strict-checksums \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
    -Dartifact="org.webjars.npm:mermaid:$version" -DoutputDirectory="$work" </dev/null ||
    fail "Mermaid $version could not be had from Maven Central; see what mvn says above"
unzip -q -j "$work/mermaid-$version.jar" '*/dist/mermaid.min.js' -d "$work"
rm -f "$folder"/*.min.js
mv "$work/mermaid.min.js" "$folder/mermaid-$version.min.js"
