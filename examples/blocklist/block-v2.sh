#!/bin/sh
# Version 2: one rule, which looks the address up in a set.
{
    echo "table ip own {"
    echo "  set blocked {"
    echo "    type ipv4_addr"
    echo "    elements = {"
    seq 1 "$1" | awk '{ printf "      203.0.%d.%d,\n", $1 / 256, $1 % 256 }'
    echo "    }"
    echo "  }"
    echo "  chain forward {"
    echo "    type filter hook forward priority 0"
    echo "    ip saddr @blocked drop"
    echo "  }"
    echo "}"
} | nft -f -
