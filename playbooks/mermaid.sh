#!/bin/sh
# Mermaid draws the diagrams of the documentation: mermaid.sh FOLDER VERSION
#
# npm fetches it and checks it against the registry's checksum, so that readers of the site load
# nothing from elsewhere. Without npm, the site loads Mermaid from unpkg.com.
set -eu

folder=$1
version=$2

test ! -f "$folder/mermaid.min.js" || exit 0
mkdir -p "$folder"
work=$(mktemp -d "$folder/.unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
if ! npm pack --silent --pack-destination "$work" "mermaid@$version" >/dev/null 2>&1; then
    echo "docs: no Mermaid from npm: readers need internet access to see diagrams" >&2
    exit 0
fi
tar -xzf "$work/mermaid-$version.tgz" -C "$work" package/dist/mermaid.min.js
mv "$work/package/dist/mermaid.min.js" "$folder/mermaid.min.js"
