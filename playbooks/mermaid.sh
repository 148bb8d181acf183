#!/bin/sh
# Mermaid, which draws the diagrams of the documentation: mermaid.sh FOLDER VERSION
#
# It comes from Maven Central (a WebJar) and becomes part of the site: readers load nothing from
# elsewhere.
set -eu

folder=$1
version=$2
part=docs
. "$(dirname "$0")/maven.sh"

test ! -f "$folder/mermaid-$version.min.js" || exit 0
unfinished "$folder/.unpack"
fetch "Mermaid $version" copy -Dartifact="org.webjars.npm:mermaid:$version"
unzip -q -j "$work/mermaid-$version.jar" '*/dist/mermaid.min.js' -d "$work"
rm -f "$folder"/*.min.js
mv "$work/mermaid.min.js" "$folder/mermaid-$version.min.js"
