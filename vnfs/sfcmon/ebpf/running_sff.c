// SPDX-License-Identifier: Apache-2.0
/* Replaces the program of a running sfc-sff by one that monitors, and puts it back. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../../../dataplane/attach/link.h"
#include "../../../dataplane/attach/xdp.h"
#include "../../../dataplane/common/report.h"
#include "../../../dataplane/sff/entries.h"
#include "engine.h"
#include "ebpf/monitored_sff.skel.h"
#include "running_sff.h"

#define MOST_LINKS (SFF_PORTS + 1)
#define SETTINGS ".bss"

static struct monitored_sff_bpf *skeleton; /* the program that monitors */
static struct kernel_program original; /* the one that sfc-sff itself has loaded */
static int links[MOST_LINKS]; /* by which it is attached to the interfaces */
static unsigned int link_count;

static bool is_sff(const struct kernel_program *program)
{
	return program->type == BPF_PROG_TYPE_XDP && strcmp(program->name, "sff") == 0;
}

/* Has the program a map of this name? `id` gets the map's id. */
static bool has_map(const struct kernel_program *program, const char *name, __u32 *id)
{
	struct bpf_map_info facts;
	int fd = kernel_program_map(program, name, &facts);

	if (fd < 0)
		return false;
	*id = facts.id;
	close(fd);
	return true;
}

/* Set `original` to the program that sfc-sff itself has loaded: it uses the map of settings with
 * this id, and has no map of SFCMon. Returns 0, or -1 if there is none. */
static int find_original(__u32 settings)
{
	__u32 id = 0, other;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		if (kernel_program_open(id, &original))
			continue;
		if (is_sff(&original) && has_map(&original, SETTINGS, &other) &&
		    other == settings && !has_map(&original, SFCMON_STATE, &other))
			return 0;
		close(original.fd);
	}
	return -1;
}

/* Is this the name of one of SFCMon's maps? */
static bool is_of_sfcmon(const char *name)
{
	static const char *const names[] = { "cms",  "bloom",	   "iblt",	 "locks",
					     "work", SFCMON_STATE, SFCMON_SIZES, NULL };

	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Let the new program use the maps of the running one. Maps that the running one lacks are not
 * needed, or are SFCMon's. Returns 0, or -1 after complain(). */
static int share_maps(const struct kernel_program *running)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, skeleton->obj)
	{
		/* The name of a section, such as `.bss`, without what libbpf puts before it. */
		const char *section = strchr(bpf_map__name(map), '.');
		const char *name = section ? section : bpf_map__name(map);
		struct bpf_map_info facts;
		int fd, error;

		if (is_of_sfcmon(name))
			continue;
		fd = kernel_program_map(running, name, &facts);
		if (fd < 0) {
			bpf_map__set_autocreate(map, false);
			continue;
		}
		error = facts.key_size != bpf_map__key_size(map) ||
			facts.value_size != bpf_map__value_size(map) || bpf_map__reuse_fd(map, fd);
		close(fd);
		if (error) {
			complain("the sfc-sff that runs is of another version: its map %s differs",
				 name);
			return -1;
		}
	}
	return 0;
}

struct bpf_object *open_sff(const struct interface *port)
{
	struct xdp_program running;
	__u32 settings;

	if (xdp_find(port->index, &running) || !is_sff(&running.program) ||
	    !has_map(&running.program, SETTINGS, &settings) || find_original(settings)) {
		complain("no sfc-sff serves the interface %s", port->name);
		return NULL;
	}
	/* The running program is that of sfc-sff itself, or of a monitor that was killed. */
	link_count = xdp_links(running.program.id, 0, links, MOST_LINKS);
	skeleton = monitored_sff_bpf__open();
	if (!skeleton) {
		complain("cannot open the BPF program: %s", strerror(errno));
		return NULL;
	}
	bpf_program__set_autoload(skeleton->progs.output, false);
	return share_maps(&running.program) ? NULL : skeleton->obj;
}

int attach_sff(void)
{
	for (unsigned int i = 0; i < link_count; i++) {
		int error = bpf_link_update(links[i], bpf_program__fd(skeleton->progs.sff), NULL);

		if (error) {
			complain("cannot replace the program of the sfc-sff: %s", strerror(-error));
			detach_sff();
			return -1;
		}
	}
	return 0;
}

/* Put the original program back, except at interfaces where a third program is in its place. */
void detach_sff(void)
{
	for (unsigned int i = 0; i < link_count; i++)
		link_replace(links[i], original.fd, bpf_program__fd(skeleton->progs.sff));
}
