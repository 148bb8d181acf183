#!/bin/sh
# Run a command in the namespaces of a further node of the cloud: in-node.sh NUMBER COMMAND...
set -eu

number=$1
shift
read -r pid <"/run/sfcperf-openstack/node$number.pid"
exec nsenter --target "$pid" --net --mount --uts -- "$@"
