#!/bin/sh
# Keeps the interfaces of guests up.
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
    [0-9]*": tap"*) ip link set "${name%%[@:]*}" up 2>/dev/null || : ;;
    esac
done
