// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "../../dataplane/common/libbpf_log.h"
#include "../../dataplane/common/report.h"
#include "../../dataplane/common/xdp.h"
#include "filter_user.h"
#include "firewall.skel.h"
#include "table.h"

#define PROGRAM "firewall"
#define MOST_MAPS 16

static const char *const map_names[TABLE_MAPS] = {
	[TABLE_FLOWS4] = "flows4",     [TABLE_FLOWS6] = "flows6",     [TABLE_SOURCES4] = "sources4",
	[TABLE_SOURCES6] = "sources6", [TABLE_COUNTERS] = "counters", [TABLE_LEASE] = "lease",
	[TABLE_FILTER] = "filter",
};

/* A descriptor of our program on an interface; -1 where there is none, or it is not ours. */
static int attached_program(const struct interface *interface)
{
	struct bpf_prog_info info = { 0 };
	__u32 bytes = sizeof(info);
	__u32 id = 0;
	int fd;

	if (bpf_xdp_query_id(interface->index, XDP_FLAGS_DRV_MODE, &id) || !id)
		return -1;
	fd = bpf_prog_get_fd_by_id(id);
	if (fd < 0)
		return -1;
	if (!bpf_obj_get_info_by_fd(fd, &info, &bytes) && strcmp(info.name, PROGRAM) == 0)
		return fd;
	close(fd);
	return -1;
}

/* By netlink and not by a link, so that it stays when we end. */
static int attach(const struct interface *interface, int program)
{
	int there = attached_program(interface);
	int error = bpf_xdp_attach(
		interface->index, program,
		XDP_FLAGS_DRV_MODE | (there < 0 ? XDP_FLAGS_UPDATE_IF_NOEXIST : 0), NULL);

	if (there >= 0)
		close(there);
	if (error)
		complain("cannot attach to %s: %s", interface->name, xdp_attach_error(-error));
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
	int program = attached_program(interface);
	int error;

	if (program < 0)
		return 0;
	close(program);
	error = bpf_xdp_detach(interface->index, XDP_FLAGS_DRV_MODE, NULL);
	if (error)
		complain("cannot detach from %s: %s", interface->name, strerror(-error));
	return error ? -1 : 0;
}

static void take_map(struct table *table, __u32 id)
{
	struct bpf_map_info info = { 0 };
	__u32 bytes = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);

	if (fd < 0)
		return;
	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0)
		for (int i = 0; i < TABLE_MAPS; i++)
			if (strcmp(info.name, map_names[i]) == 0) {
				table->maps[i] = fd;
				return;
			}
	close(fd);
}

int table_find(const struct interface *interface, struct table *table)
{
	__u32 ids[MOST_MAPS];
	struct bpf_prog_info info = { .nr_map_ids = MOST_MAPS, .map_ids = (__u64)(long)ids };
	__u32 bytes = sizeof(info);
	int program = attached_program(interface);

	if (program < 0) {
		complain("%s carries no firewall", interface->name);
		return -1;
	}
	memset(table->maps, -1, sizeof(table->maps));
	if (bpf_obj_get_info_by_fd(program, &info, &bytes) == 0)
		for (__u32 i = 0; i < info.nr_map_ids && i < MOST_MAPS; i++)
			take_map(table, ids[i]);
	close(program);
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
