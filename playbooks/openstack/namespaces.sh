#!/bin/sh
# The first process of the cloud's namespaces: namespaces.sh ROOT SERVICES
#
# What the services write in system folders goes to folders of the cloud's own, below ROOT/state;
# then it becomes the supervisor of SERVICES.
set -eu

root=$1
services=$2

hostname sfcperf-node
ip link set lo up

# /sys shows the interfaces of the namespace in which it was mounted.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/lock /run/libvirt /run/openvswitch /run/sfcperf-openstack /run/.sys
mount --rbind /sys/fs /run/.sys
mount -t sysfs sysfs /sys
mount --rbind /run/.sys /sys/fs
umount -l /run/.sys && rmdir /run/.sys

for folder in etc/libvirt etc/openvswitch var/lib/libvirt var/cache/libvirt var/log/libvirt \
    var/lib/openvswitch var/log/openvswitch var/lib/neutron var/lib/nova var/log/neutron \
    var/log/nova var/lib/libuuid; do
    test -d "/$folder" || continue
    mkdir -p "$root/state/private/$folder"
    mount --bind "$root/state/private/$folder" "/$folder"
done
printf '127.0.0.1 localhost sfcperf-node\n::1 localhost\n' >"$root/state/private/hosts"
mount --bind "$root/state/private/hosts" /etc/hosts

exec /usr/bin/python3 /usr/bin/supervisord --nodaemon --configuration "$services"
