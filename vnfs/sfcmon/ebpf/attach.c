// SPDX-License-Identifier: Apache-2.0
/* Opens and attaches SFCMon's programs: as a function, and at the ports of an SFF. */
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <linux/if_link.h>

#include "../../../dataplane/attach/clsact.h"
#include "../../../dataplane/attach/link.h"
#include "../../../dataplane/attach/xdp.h"
#include "../../../dataplane/common/report.h"
#include "attach.h"
#include "engine.h"
#include "ebpf/sfcmon.skel.h"

#define TC_PRIORITY 0x4000

static struct sfcmon_bpf *skeleton;
static struct interface interface; /* of the function */
static int link_fd;
static struct {
	int index; /* of the interface */
	struct sfcmon_port settings;
} ports[SFCMON_PORTS];
/* Number of `ports`, and of those that the program is attached to, from the first on. */
static unsigned int port_count, attached;

/* Open the programs, of which only the one for ports, or the one for a function, will be loaded.
 * Returns NULL after complain(). */
static struct bpf_object *open_only(bool at_ports)
{
	skeleton = sfcmon_bpf__open();
	if (!skeleton) {
		complain("cannot open the BPF programs: %s", strerror(errno));
		return NULL;
	}
	bpf_program__set_autoload(skeleton->progs.serve, !at_ports);
	bpf_program__set_autoload(skeleton->progs.arrive, at_ports);
	return skeleton->obj;
}

struct bpf_object *open_function(const struct interface *served, enum sfcmon_monitor monitor)
{
	struct bpf_object *object = open_only(false);

	interface = *served;
	if (!object)
		return NULL;
	memcpy((void *)skeleton->rodata->own_mac, interface.mac, sizeof(interface.mac));
	skeleton->rodata->monitor = monitor;
	return object;
}

struct bpf_object *open_ports(const struct place *places, unsigned int count)
{
	for (port_count = 0; port_count < count; port_count++) {
		struct interface found;

		if (find_interface(places[port_count].interface, &found))
			return NULL;
		ports[port_count].index = found.index;
		ports[port_count].settings = places[port_count].port;
	}
	return open_only(true);
}

int attach_function(void)
{
	link_fd = xdp_link(interface.index, bpf_program__fd(skeleton->progs.serve),
			   XDP_FLAGS_DRV_MODE);
	if (link_fd < 0)
		complain("cannot attach to %s: %s", interface.name,
			 xdp_attach_error(interface.index, link_fd));
	return link_fd < 0 ? -1 : 0;
}

void detach_function(void)
{
	link_detach(link_fd);
	link_fd = -1;
}

int attach_ports(void)
{
	int map = bpf_map__fd(skeleton->maps.ports), program;

	program = bpf_program__fd(skeleton->progs.arrive);
	for (attached = 0; attached < port_count; attached++) {
		int *index = &ports[attached].index;
		int error = bpf_map_update_elem(map, index, &ports[attached].settings, BPF_NOEXIST);

		if (!error)
			error = tool_filter_attach(*index, AT_INGRESS, TC_PRIORITY, program);
		if (!error)
			continue;
		complain("cannot attach to tc of interface %d: %s", *index,
			 error == -EEXIST ? "it is given twice" : strerror(-error));
		detach_ports();
		return -1;
	}
	return 0;
}

void detach_ports(void)
{
	while (attached > 0)
		tool_filter_detach(ports[--attached].index, AT_INGRESS, TC_PRIORITY);
}
