#!/bin/sh
# Keeps the interfaces of guests up, and gives them longer queues.
#
# An emulated guest takes packets slowly. If one finds no room, Open vSwitch drops up to 31 others
# with it, which it has just received, and counts none of them.
#
# libvirt sets a guest's interface up while Open vSwitch, to which it was just given, reads its
# flags and writes them back with one more: now and then what libvirt has set is lost, and the
# guest with it, although Nova and Neutron call it active.
set -u

{
    ip -o link
    exec ip -o monitor link
} | while read -r number name flags rest; do
    case "$number $name $flags" in
    Deleted* | *[,\<]UP[,\>]*) continue ;;
    [0-9]*": tap"*) ip link set "${name%%[@:]*}" up txqueuelen 10000 2>/dev/null || : ;;
    esac
done
