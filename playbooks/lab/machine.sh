#!/bin/sh
# Runs as the first process of a machine that is made of namespaces: mounts what a machine has of its
# own, then becomes its sshd. $1: host name, $2: folder with the keys `host` and `authorized`, $3:
# version of control groups.
set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd /run/netns
mount -t sysfs sysfs /sys
mount -t bpf bpf /sys/fs/bpf
# The control group in which the machine was started is the root of its hierarchies.
if [ "$3" = 2 ]; then
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    # A group with processes cannot have limited children.
    mkdir /sys/fs/cgroup/init
    echo $$ >/sys/fs/cgroup/init/cgroup.procs
    echo '+cpuset +memory' >/sys/fs/cgroup/cgroup.subtree_control
else
    mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
    for controller in cpuset cpuacct memory; do
        mkdir "/sys/fs/cgroup/$controller"
        mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller"
    done
fi
mkdir -p /var/lib/sfcperf
mount -t tmpfs -o mode=755 tmpfs /var/lib/sfcperf
hostname "$1"
exec /usr/sbin/sshd -D -h "$2/host" -o AuthorizedKeysFile="$2/authorized" -o StrictModes=no \
    -o PidFile=none -o PermitRootLogin=yes -o UseDNS=no -o UsePAM=no
