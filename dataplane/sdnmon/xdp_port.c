// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "xdp_port.h"

#define MOST_MAPS 64

/* The program at an interface now. */
struct attached {
	__u32 id; /* 0: none */
	int fd;
	__u32 flags; /* how it is attached */
	bool is_ours;
};

static __u32 id_of_map(int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 bytes = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &bytes) ? 0 : info.id;
}

/* All programs of a switch, before and after resets, call those of the same map. */
static bool calls(int program, int forwarders)
{
	__u32 maps[MOST_MAPS], map = id_of_map(forwarders);
	struct bpf_prog_info info = {
		.nr_map_ids = MOST_MAPS,
		.map_ids = (__u64)(unsigned long)maps,
	};
	__u32 bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(program, &info, &bytes))
		return false;
	for (__u32 i = 0; i < info.nr_map_ids && i < MOST_MAPS; i++)
		if (maps[i] == map)
			return true;
	return false;
}

static __u32 query(int ifindex, __u32 *flags)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, found);

	if (bpf_xdp_query(ifindex, 0, &found))
		return 0;
	*flags = found.attach_mode == XDP_ATTACHED_SKB	? XDP_FLAGS_SKB_MODE
		 : found.attach_mode == XDP_ATTACHED_HW ? XDP_FLAGS_HW_MODE
							: XDP_FLAGS_DRV_MODE;
	return found.prog_id;
}

bool has_xdp(int ifindex)
{
	__u32 flags;

	return query(ifindex, &flags) != 0;
}

static int find(int ifindex, int forwarders, struct attached *attached)
{
	attached->id = query(ifindex, &attached->flags);
	if (!attached->id)
		return -ENOENT;
	attached->fd = bpf_prog_get_fd_by_id(attached->id);
	if (attached->fd < 0)
		return attached->fd;
	attached->is_ours = calls(attached->fd, forwarders);
	return 0;
}

/* The link by which the program is attached, or -ENOENT: it has none. */
static int find_link(int ifindex, __u32 program)
{
	__u32 id = 0;

	while (bpf_link_get_next_id(id, &id) == 0) {
		struct bpf_link_info info = { 0 };
		__u32 bytes = sizeof(info);
		int fd = bpf_link_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0 &&
		    info.type == BPF_LINK_TYPE_XDP && info.prog_id == program &&
		    (int)info.xdp.ifindex == ifindex)
			return fd;
		close(fd);
	}
	return -ENOENT;
}

/* But where yet another one has taken the place meanwhile. */
static int replace(int ifindex, const struct attached *attached, int program)
{
	LIBBPF_OPTS(bpf_link_update_opts, by_link, .flags = BPF_F_REPLACE,
		    .old_prog_fd = (__u32)attached->fd);
	LIBBPF_OPTS(bpf_xdp_attach_opts, by_netlink, .old_prog_fd = attached->fd);
	int link = find_link(ifindex, attached->id), error;

	if (link < 0)
		return bpf_xdp_attach(ifindex, program, attached->flags, &by_netlink);
	error = bpf_link_update(link, program, &by_link);
	close(link);
	return error;
}

int xdp_put_in_front(int ifindex, const struct program *program)
{
	struct attached attached;
	__u32 place = SDNMON_XDP_PLACE(ifindex);
	int error = find(ifindex, program->forwarders, &attached);

	if (error)
		return error;
	/* First, so that each frame finds the program behind. */
	if (!attached.is_ours)
		error = bpf_map_update_elem(program->forwarders, &place, &attached.fd, BPF_ANY);
	if (!error)
		error = replace(ifindex, &attached, program->arrive_xdp);
	close(attached.fd);
	return error;
}

void xdp_take_away(int ifindex, int forwarders)
{
	__u32 place = SDNMON_XDP_PLACE(ifindex), behind;
	struct attached attached;
	int program;

	if (find(ifindex, forwarders, &attached) == 0) {
		if (attached.is_ours && bpf_map_lookup_elem(forwarders, &place, &behind) == 0 &&
		    (program = bpf_prog_get_fd_by_id(behind)) >= 0) {
			replace(ifindex, &attached, program);
			close(program);
		}
		close(attached.fd);
	}
	bpf_map_delete_elem(forwarders, &place);
}
