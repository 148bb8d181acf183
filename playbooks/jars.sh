#!/bin/sh
# A service that is written in Java, and all that it needs: jars.sh FOLDER POM
#
# Maven resolves the dependencies of the pom and checks them against their checksums. They are there
# when FOLDER/.complete is, which holds the checksum of the pom.
set -eu

folder=$1
pom=$2

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

digest=$(sha256sum <"$pom")
test "$(cat "$folder/.complete" 2>/dev/null)" != "$digest" || exit 0
for tool in mvn java; do
    command -v "$tool" >/dev/null ||
        fail "$tool is not there (Debian, Ubuntu: sudo apt-get install maven openjdk-17-jre-headless)"
done

umask 022
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mvn --quiet --batch-mode --no-transfer-progress --strict-checksums --file "$pom" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$work" </dev/null ||
    fail "what $pom names could not be had from Maven Central; see what mvn says above"
printf '%s\n' "$digest" >"$work/.complete"
rm -rf "${folder:?}"
mv "$work" "$folder"
