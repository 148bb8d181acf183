// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "../../common/report.h"
#include "../../common/tc_filter.h"
#include "attach.h"

#define TC_PRIORITY 0x4000 /* before sfc-sff's own */
#define SFF_PROGRAM "sff"
#define SFF_FUNCTION "sff_observe"

static struct sfcmon_bpf *skeleton;
static struct bpf_program *chosen;
static struct interface interface; /* of the function, or of sfc-sff */
static int link_fd = -1;
static struct bpf_link *extension; /* of sfc-sff's program */
static int indexes[SFCMON_PORTS]; /* of the ports */
static struct sfcmon_port settings[SFCMON_PORTS];
static unsigned int ports, attached;

static void choose(struct sfcmon_bpf *opened, struct bpf_program *program)
{
	struct bpf_program *each;

	skeleton = opened;
	chosen = program;
	bpf_object__for_each_program(each, skeleton->obj)
		bpf_program__set_autoload(each, each == chosen);
}

int choose_function(struct sfcmon_bpf *opened, const struct interface *served)
{
	choose(opened, opened->progs.serve);
	interface = *served;
	memcpy((void *)skeleton->rodata->own_mac, interface.mac, sizeof(interface.mac));
	return 0;
}

/* File descriptor of the program of sfc-sff at an interface, or -1. */
static int find_sff(int ifindex)
{
	struct bpf_prog_info facts = { 0 };
	__u32 bytes = sizeof(facts), id = 0;
	int fd;

	if (bpf_xdp_query_id(ifindex, XDP_FLAGS_DRV_MODE, &id) || !id)
		return -1;
	fd = bpf_prog_get_fd_by_id(id);
	if (fd < 0)
		return -1;
	if (bpf_obj_get_info_by_fd(fd, &facts, &bytes) == 0 && strcmp(facts.name, SFF_PROGRAM) == 0)
		return fd;
	close(fd);
	return -1;
}

int choose_sff(struct sfcmon_bpf *opened, const struct interface *port)
{
	int fd = find_sff(port->index), error;

	if (fd < 0) {
		complain("no sfc-sff serves the interface %s", port->name);
		return -1;
	}
	choose(opened, opened->progs.observe);
	interface = *port;
	error = bpf_program__set_attach_target(chosen, fd, SFF_FUNCTION);
	/* Loading takes a reference of its own, by this descriptor, which stays open until then. */
	if (error)
		complain("the sfc-sff at %s cannot be monitored: %s; it may be of another version",
			 port->name, strerror(-error));
	return error;
}

int choose_ports(struct sfcmon_bpf *opened, const struct place *places, unsigned int count)
{
	choose(opened, opened->progs.arrive);
	for (ports = 0; ports < count; ports++) {
		struct interface found;

		if (find_interface(places[ports].interface, &found))
			return -1;
		indexes[ports] = found.index;
		settings[ports] = places[ports].port;
	}
	return 0;
}

static int attach_function(void)
{
	LIBBPF_OPTS(bpf_link_create_opts, how, .flags = XDP_FLAGS_DRV_MODE);

	/* The link goes with the process. */
	link_fd = bpf_link_create(bpf_program__fd(chosen), interface.index, BPF_XDP, &how);
	if (link_fd < 0)
		complain("cannot attach to %s: %s", interface.name, strerror(-link_fd));
	return link_fd < 0 ? -1 : 0;
}

static int attach_sff(void)
{
	extension = bpf_program__attach(chosen);
	if (extension)
		return 0;
	if (errno == EBUSY)
		complain("the sfc-sff at %s is monitored already", interface.name);
	else
		complain("cannot attach to the sfc-sff at %s: %s", interface.name, strerror(errno));
	return -1;
}

static int attach_ports(void)
{
	int map = bpf_map__fd(skeleton->maps.ports);

	for (attached = 0; attached < ports; attached++) {
		int *index = &indexes[attached];
		int error = bpf_map_update_elem(map, index, &settings[attached], BPF_NOEXIST);

		if (!error)
			error = tc_attach(*index, TC_PRIORITY, bpf_program__fd(chosen));
		if (error) {
			complain("cannot attach to tc of interface %d: %s", *index,
				 error == -EEXIST ? "it is given twice" : strerror(-error));
			detach_chosen();
			return -1;
		}
	}
	return 0;
}

int attach_chosen(void)
{
	if (chosen == skeleton->progs.serve)
		return attach_function();
	return chosen == skeleton->progs.observe ? attach_sff() : attach_ports();
}

void detach_chosen(void)
{
	if (link_fd >= 0)
		bpf_link_detach(link_fd);
	bpf_link__destroy(extension);
	extension = NULL;
	while (attached > 0)
		tc_detach(indexes[--attached], TC_PRIORITY);
}
