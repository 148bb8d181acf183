// SPDX-License-Identifier: Apache-2.0
/* Puts SDN-Mon's program in front of an interface's XDP program, and takes it away. */
#include <stdbool.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../attach/xdp.h"
#include "xdp_port.h"

/* Is this a program of the same switch? All of its programs, before and after resets, call the
 * programs of the same map. */
static bool is_ours(const struct xdp_program *found, int forwarders)
{
	struct bpf_map_info map = { 0 };
	__u32 bytes = sizeof(map);

	if (bpf_obj_get_info_by_fd(forwarders, &map, &bytes))
		return false;
	for (unsigned int i = 0; i < found->program.map_count; i++)
		if (found->program.maps[i] == map.id)
			return true;
	return false;
}

int xdp_put_in_front(int ifindex, const struct program *program)
{
	__u32 place = SDNMON_XDP_PLACE(ifindex);
	struct xdp_program found;
	int error = xdp_find(ifindex, &found);

	if (error)
		return error;
	/* The map comes first, so that each frame finds the program behind. If a program of ours is
	 * in front already, the map has the one behind. */
	if (!is_ours(&found, program->forwarders))
		error = bpf_map_update_elem(program->forwarders, &place, &found.program.fd,
					    BPF_ANY);
	if (!error)
		error = xdp_replace(ifindex, &found, program->arrive_xdp);
	close(found.program.fd);
	return error;
}

void xdp_take_away(int ifindex, int forwarders)
{
	__u32 place = SDNMON_XDP_PLACE(ifindex), behind; /* id of the program behind */
	struct xdp_program found;
	int program;

	if (xdp_find(ifindex, &found) == 0) {
		if (is_ours(&found, forwarders) &&
		    bpf_map_lookup_elem(forwarders, &place, &behind) == 0 &&
		    (program = bpf_prog_get_fd_by_id(behind)) >= 0) {
			xdp_replace(ifindex, &found, program);
			close(program);
		}
		close(found.program.fd);
	}
	bpf_map_delete_elem(forwarders, &place);
}
