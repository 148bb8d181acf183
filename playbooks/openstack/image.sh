#!/bin/sh
# Guest images from what this machine has installed: image.sh FOLDER KERNEL
#
# KERNEL is an unpacked kernel package (oldest-kernel.sh). FOLDER gets vmlinuz, blank.raw (the disk)
# and two archives that guests run from in memory: sfcperf-guest.cpio, with the tools that network
# functions, probes and monitors call, and sfcperf-tiny.cpio with a shell, a server of SSH, iperf3.
set -eu

folder=$1
kernel=$2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
PATH=/usr/sbin:/usr/bin:/sbin:/bin

TINY="dropbear iperf3"
GUEST="$TINY dropbearkey ab dash ethtool httperf ip iptables nft nginx ping stdbuf"
GUEST="$GUEST sysctl tc tcpdump"
# What a guest needs to start; further ones are loaded when the kernel asks for them.
BOOT="virtio_pci virtio_net virtio_blk ata_piix sr_mod isofs virtio_rng"
NETWORK="veth tun dummy bridge vxlan act_bpf act_mirred act_police act_vlan cls_bpf cls_flower
    cls_matchall cls_u32 sch_fq sch_fq_codel sch_htb sch_ingress sch_netem sch_prio sch_tbf ifb
    nf_tables nf_conntrack nfnetlink_queue nft_chain_nat nft_ct nft_nat nft_masq nft_redir
    nft_numgen nft_hash nft_limit nft_log nft_queue nft_reject nft_reject_inet nft_reject_ipv4
    nft_compat nft_quota nft_fib_inet nf_nat nft_objref nft_connlimit nft_tproxy nft_socket
    nft_dup_ipv4 nft_fwd_netdev nf_reject_ipv4 xt_tcpudp xt_conntrack xt_MASQUERADE xt_nat
    xt_NFQUEUE xt_multiport xt_limit xt_mark xt_comment xt_state xt_LOG xt_hashlimit
    xt_statistic xt_string ts_bm nf_log_syslog ip_vs ip_vs_rr ip_vs_wrr ip_vs_lc ip_vs_sh ip_vs_mh
    iptable_filter iptable_nat iptable_mangle mpls_router mpls_gso"

digest=$(cat "$0" "$here"/guest/* "$kernel"/boot/vmlinuz-* | sha256sum | cut -c 1-16)
test ! -f "$folder/$digest" || exit 0

fail() {
    printf 'openstack: %s\n' "$@" >&2
    exit 1
}

# Copies a program with its libraries and their loader to where they are here.
install_program() {
    found=$(command -v "$2") || fail "$2 is not there: make openstack-up installs it"
    mkdir -p "$1/usr/bin"
    cp -L "$found" "$1/usr/bin/$2"
    ldd "$found" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' |
        while read -r library; do
            mkdir -p "$1$(dirname "$library")"
            test -e "$1$library" || cp -L "$library" "$1$library"
        done
}

# Copies kernel modules with what they depend on; what the kernel has built in is not there.
install_modules() {
    target=$1/lib/modules/$release
    mkdir -p "$target"
    shift
    for module in "$@"; do
        modprobe --dirname "$work/kernel" --set-version "$release" --show-depends \
            --quiet "$module" ||
            echo "openstack: the guests' kernel has no module $module" >&2
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while read -r path; do
        relative=${path#"$work/kernel/lib/modules/$release/"}
        mkdir -p "$target/$(dirname "$relative")"
        cp "$path" "$target/$relative"
    done
    cp "$work/kernel/lib/modules/$release"/modules.builtin* \
        "$work/kernel/lib/modules/$release/modules.order" "$target/"
    depmod --basedir "${target%/lib/modules/*}" "$release"
    # In the order in which they are loaded at boot, dependencies first.
    for module in $BOOT; do
        modprobe --dirname "${target%/lib/modules/*}" --set-version "$release" --show-depends \
            --quiet "$module" || :
    done | sed -n "s|^insmod ${target%/lib/modules/*}\([^ ]*\).*|\1|p" | awk '!seen[$0]++' \
        >"$target/boot"
}

skeleton() {
    mkdir -p "$1"
    (cd "$1" && mkdir -p bin sbin dev etc/dropbear mnt proc root/.ssh run sys tmp usr/bin usr/sbin \
        var/lib/nginx var/log/nginx && ln -s ../run var/run && chmod 700 root root/.ssh)
    cp /bin/busybox "$1/bin/busybox"
    cp "$here/guest/init" "$here/guest/dhcp" "$1/"
    chmod 755 "$1/init" "$1/dhcp"
    printf '%s\n' 'root:*:0:0:root:/root:/bin/sh' 'www-data:*:33:33::/var/www:/bin/false' \
        'tcpdump:*:101:101::/:/bin/false' 'nobody:*:65534:65534::/:/bin/false' >"$1/etc/passwd"
    printf '%s\n' 'root:x:0:' 'www-data:x:33:' 'tcpdump:x:101:' 'nogroup:x:65534:' >"$1/etc/group"
    echo /bin/sh >"$1/etc/shells"
    echo '127.0.0.1 localhost' >"$1/etc/hosts"
    for program in $2; do
        install_program "$1" "$program"
    done
}

archive() {
    (cd "$1" && find . | LC_ALL=C sort | busybox cpio -o -H newc -R 0:0 2>/dev/null) >"$2"
}

umask 022
mkdir -p "$folder"
work=$(mktemp -d "$folder/.build.XXXXXX")
trap 'rm -rf "$work"' EXIT
release=$(basename "$kernel"/boot/vmlinuz-* | sed 's/^vmlinuz-//')
# Debian's package has no index of its modules: installing it would make one.
mkdir -p "$work/kernel/lib/modules"
cp -r "$kernel/lib/modules/$release" "$work/kernel/lib/modules/"
depmod --basedir "$work/kernel" "$release"

skeleton "$work/tiny" "$TINY"
install_modules "$work/tiny" $BOOT
skeleton "$work/guest" "$GUEST"
install_modules "$work/guest" $BOOT $NETWORK
# busybox's shell takes its own ip, tc and ping for these.
ln -s ../usr/bin/dash "$work/guest/bin/sh"
libraries=/usr/lib/x86_64-linux-gnu
mkdir -p "$work/guest$libraries"
cp -r "$libraries/xtables" "$work/guest$libraries/"
for name in iptables-nft iptables-nft-restore iptables-nft-save iptables-restore iptables-save; do
    ln -s iptables "$work/guest/usr/bin/$name"
done
mkdir -p "$work/guest/etc/nginx" "$work/guest/var/www" "$work/guest/usr/libexec/coreutils"
cp /usr/libexec/coreutils/libstdbuf.so "$work/guest/usr/libexec/coreutils/"

for name in tiny guest; do
    archive "$work/$name" "$work/sfcperf-$name.cpio"
    mv "$work/sfcperf-$name.cpio" "$folder/"
done
cp "$kernel/boot/vmlinuz-$release" "$folder/vmlinuz"
truncate -s 1M "$folder/blank.raw"
find "$folder" -maxdepth 1 -type f -name '????????????????' -delete
touch "$folder/$digest"
