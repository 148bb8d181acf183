#!/bin/sh
# Version 1: a rule for each blocked address.
{
    echo "table ip own {"
    echo "  chain forward {"
    echo "    type filter hook forward priority 0"
    seq 1 "$1" | awk '{ printf "    ip saddr 203.0.%d.%d drop\n", $1 / 256, $1 % 256 }'
    echo "  }"
    echo "}"
} | nft -f -
