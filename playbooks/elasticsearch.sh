#!/bin/sh
# A real Elasticsearch for tests and benchmarks: elasticsearch.sh FOLDER VERSION
#
# It is the small distribution that the makers test with, from Maven Central. The folder is readable
# by all: the server refuses to run as root.
set -eu

folder=$1
version=$2
name=elasticsearch-$version
part=servers
. "$(dirname "$0")/maven.sh"

test ! -f "$folder/$name/.complete" || exit 0
unfinished "$folder/.unpack"
fetch "Elasticsearch $version" copy \
    -Dartifact="org.elasticsearch.distribution.integ-test-zip:elasticsearch:$version:zip"
unzip -q "$work/$name.zip" -d "$work"
chmod -R a+rX "$work"
touch "$work/$name/.complete"
rm -rf "${folder:?}/$name"
mv "$work/$name" "$folder/$name"
