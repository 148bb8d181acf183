// SPDX-License-Identifier: Apache-2.0
/* Attaches the firewall's program to an interface, and finds its maps. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "../../dataplane/attach/xdp.h"
#include "../../dataplane/common/libbpf_log.h"
#include "../../dataplane/common/report.h"
#include "filter_user.h"
#include "firewall.skel.h"
#include "table.h"

#define PROGRAM "firewall"

static const char *const map_names[TABLE_MAPS] = {
	[TABLE_FLOWS4] = "flows4",     [TABLE_FLOWS6] = "flows6",     [TABLE_SOURCES4] = "sources4",
	[TABLE_SOURCES6] = "sources6", [TABLE_COUNTERS] = "counters", [TABLE_LEASE] = "lease",
	[TABLE_FILTER] = "filter",
};

/* Find the firewall's program on an interface. The caller closes its descriptor. Returns -1 if
 * there is no program, or another one. */
static int find_ours(const struct interface *interface, struct xdp_program *found)
{
	if (xdp_find(interface->index, found))
		return -1;
	if (strcmp(found->program.name, PROGRAM) == 0)
		return 0;
	close(found->program.fd);
	return -1;
}

/* Attach the program, or replace an earlier one of the firewall. */
static int attach(const struct interface *interface, int program)
{
	struct xdp_program ours;
	int error;

	if (find_ours(interface, &ours)) {
		error = xdp_attach(interface->index, program);
	} else {
		error = xdp_replace(interface->index, &ours, program);
		close(ours.program.fd);
	}
	if (error)
		complain("cannot attach to %s: %s", interface->name,
			 xdp_attach_error(interface->index, error));
	return error ? -1 : 0;
}

int table_attach(const struct interface *interface, unsigned int max_rules, bool fail_closed)
{
	struct firewall_bpf *skeleton = firewall_bpf__open();
	int status = -1;

	if (!skeleton) {
		complain("cannot open the XDP program: %s", strerror(errno));
		return -1;
	}
	memcpy((void *)skeleton->rodata->own_mac, interface->mac, sizeof(interface->mac));
	*(__u8 *)&skeleton->rodata->fail_closed = fail_closed;
	*(__u32 *)&skeleton->rodata->filter_mask = filter_words(max_rules) - 1;
	bpf_map__set_max_entries(skeleton->maps.filter,
				 filter_words(max_rules) + (__u32)FW_FILTER_STATE_PLACES);
	bpf_map__set_max_entries(skeleton->maps.flows4, max_rules);
	bpf_map__set_max_entries(skeleton->maps.flows6, max_rules);
	bpf_map__set_max_entries(skeleton->maps.sources4, max_rules);
	bpf_map__set_max_entries(skeleton->maps.sources6, max_rules);
	if (firewall_bpf__load(skeleton))
		libbpf_complain_of_load("the XDP program", errno);
	else
		status = attach(interface, bpf_program__fd(skeleton->progs.firewall));
	firewall_bpf__destroy(skeleton);
	return status;
}

int table_detach(const struct interface *interface)
{
	struct xdp_program ours;
	int error;

	if (find_ours(interface, &ours))
		return 0;
	error = xdp_replace(interface->index, &ours, -1);
	close(ours.program.fd);
	if (error)
		complain("cannot detach from %s: %s", interface->name, strerror(-error));
	return error ? -1 : 0;
}

int table_find(const struct interface *interface, struct table *table)
{
	struct xdp_program ours;
	struct bpf_map_info facts;

	if (find_ours(interface, &ours)) {
		complain("%s carries no firewall", interface->name);
		return -1;
	}
	for (int i = 0; i < TABLE_MAPS; i++)
		table->maps[i] = kernel_program_map(&ours.program, map_names[i], &facts);
	close(ours.program.fd);
	for (int i = 0; i < TABLE_MAPS; i++)
		if (table->maps[i] < 0) {
			complain("cannot open the map %s on %s: %s", map_names[i], interface->name,
				 strerror(errno));
			table_close(table);
			return -1;
		}
	return 0;
}

void table_close(struct table *table)
{
	for (int i = 0; i < TABLE_MAPS; i++)
		if (table->maps[i] >= 0)
			close(table->maps[i]);
}
