#!/bin/sh
# A real Elasticsearch for tests and benchmarks: elasticsearch.sh FOLDER VERSION
#
# It is the small distribution that the makers test with, from Maven Central, checked by Maven
# against its checksum. The folder is readable by all: the server refuses to run as root.
set -eu

folder=$1
version=$2
name=elasticsearch-$version

fail() {
    printf 'servers: %s\n' "$@" >&2
    exit 1
}

test ! -f "$folder/$name/.complete" || exit 0
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
    -Dartifact="org.elasticsearch.distribution.integ-test-zip:elasticsearch:$version:zip" \
    -DoutputDirectory="$work" </dev/null ||
    fail "Elasticsearch $version could not be had from Maven Central; see what mvn says above"
unzip -q "$work/$name.zip" -d "$work"
chmod -R a+rX "$work"
touch "$work/$name/.complete"
rm -rf "${folder:?}/$name"
mv "$work/$name" "$folder/$name"
