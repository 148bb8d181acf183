#!/usr/sbin/dash
# First process of the test's machine: runs what comes on the second serial line.
#
# A request is one line: number, seconds, shell commands in base64. So is its answer: number, exit
# status, what was said (stdout and stderr as they came) in base64.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/tmp

/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t bpf bpf /sys/fs/bpf
ln -s /run /var/run 2>/dev/null || { mkdir -p /var && ln -s /run /var/run; }
mkdir -p /sbin && ln -sf /bin/modprobe /sbin/modprobe
depmod
ip link set lo up

exec 3<>/dev/ttyS1
stty raw -echo <&3
echo "0 0 $(uname -r | base64 -w 0)" >&3
while read -r number seconds commands <&3; do
	echo "$commands" | base64 -d >/tmp/commands
	timeout "$seconds" dash /tmp/commands >/tmp/said 2>&1 </dev/null 3<&-
	echo "$number $? $(base64 -w 0 /tmp/said)" >&3
done
poweroff -f
