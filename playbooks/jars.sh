#!/bin/sh
# A service that is written in Java, and all that it needs: jars.sh FOLDER POM
#
# Maven resolves the dependencies of the pom. They are there when FOLDER/.complete is, which holds
# the checksum of the pom.
set -eu

folder=$1
pom=$2
part=setup
. "$(dirname "$0")/maven.sh"

digest=$(sha256sum <"$pom")
test "$(cat "$folder/.complete" 2>/dev/null)" != "$digest" || exit 0
unfinished "$folder"
fetch "what $pom names" copy-dependencies --file "$pom" -DincludeScope=runtime
printf '%s\n' "$digest" >"$work/.complete"
rm -rf "${folder:?}"
mv "$work" "$folder"
