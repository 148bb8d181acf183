#!/bin/sh
# Holds the namespaces of a further node of the cloud: node.sh STATE NUMBER HOSTNAME
#
# The node has folders of its own where its switch, libvirtd and agents write in system folders. It is
# started in new network, mount and UTS namespaces; the cloud's process namespace is shared.
set -eu

state=$1
number=$2
name=$3
sockets=/run/sfcperf-openstack

hostname "$name"
ip link set lo up

# The first node names this one by its process. The file is written there, and read there.
exec 3>"$sockets/node$number.new"
mkdir -p "$state/run/netns" "$state/run/lock" "$state/run/libvirt" "$state/run/openvswitch"
mkdir -p "$state/run/.sys"
mount --rbind /sys/fs "$state/run/.sys"
mount -t sysfs sysfs /sys
mount --rbind "$state/run/.sys" /sys/fs
umount -l "$state/run/.sys"
for folder in etc/libvirt etc/openvswitch var/lib/libvirt var/cache/libvirt var/log/libvirt \
    var/lib/openvswitch var/log/openvswitch var/lib/neutron var/lib/nova var/log/neutron \
    var/log/nova; do
    test -d "/$folder" || continue
    mkdir -p "$state/private/$folder"
    mount --bind "$state/private/$folder" "/$folder"
done
printf '127.0.0.1 localhost %s\n::1 localhost\n' "$name" >"$state/private/hosts"
mount --bind "$state/private/hosts" /etc/hosts
# In the cloud's folder of sockets, which the node loses with its own /run.
echo $$ >&3
exec 3>&-
mv "$sockets/node$number.new" "$sockets/node$number.pid"
mount --bind "$state/run" /run
exec sleep infinity
