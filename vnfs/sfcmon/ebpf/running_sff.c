// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/if_link.h>

#include "../../../dataplane/common/report.h"
#include "../../../dataplane/sff/entries.h"
#include "engine.h"
#include "ebpf/monitored_sff.skel.h"
#include "running_sff.h"

#define MOST_MAPS 64
#define MOST_LINKS (SFF_PORTS + 1)
#define SETTINGS ".bss"

/* A program of the kernel. */
struct program {
	int fd;
	__u32 id;
	bool is_sff;
	__u32 maps[MOST_MAPS];
	unsigned int map_count;
};

static struct monitored_sff_bpf *skeleton;
static struct program original;
static int links[MOST_LINKS];
static unsigned int link_count;

/* Of a map, without the object that is named in front of variables. */
static const char *short_name(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot : name;
}

static int read_program(__u32 id, struct program *program)
{
	struct bpf_prog_info facts = { 0 };
	__u32 bytes = sizeof(facts);

	program->id = id;
	program->fd = bpf_prog_get_fd_by_id(id);
	if (program->fd < 0)
		return -1;
	facts.nr_map_ids = MOST_MAPS;
	facts.map_ids = (__u64)(unsigned long)program->maps;
	if (bpf_obj_get_info_by_fd(program->fd, &facts, &bytes)) {
		close(program->fd);
		return -1;
	}
	program->map_count = facts.nr_map_ids < MOST_MAPS ? facts.nr_map_ids : MOST_MAPS;
	program->is_sff = facts.type == BPF_PROG_TYPE_XDP && strcmp(facts.name, "sff") == 0;
	return 0;
}

/* File descriptor of its map of this name, with what the kernel says of it; -1: it has none. */
static int find_map(const struct program *program, const char *name, struct bpf_map_info *facts)
{
	for (unsigned int i = 0; i < program->map_count; i++) {
		__u32 bytes = sizeof(*facts);
		int fd = bpf_map_get_fd_by_id(program->maps[i]);

		if (fd < 0)
			continue;
		memset(facts, 0, sizeof(*facts));
		if (bpf_obj_get_info_by_fd(fd, facts, &bytes) == 0 &&
		    strcmp(short_name(facts->name), name) == 0)
			return fd;
		close(fd);
	}
	return -1;
}

static bool has_map(const struct program *program, const char *name, __u32 *id)
{
	struct bpf_map_info facts;
	int fd = find_map(program, name, &facts);

	if (fd < 0)
		return false;
	*id = facts.id;
	close(fd);
	return true;
}

/* The program that sfc-sff itself has loaded: it knows its settings, and nothing of SFCMon. */
static int find_original(__u32 settings)
{
	__u32 id = 0, other;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		if (read_program(id, &original))
			continue;
		if (original.is_sff && has_map(&original, SETTINGS, &other) && other == settings &&
		    !has_map(&original, SFCMON_STATE, &other))
			return 0;
		close(original.fd);
	}
	return -1;
}

/* All links with the program that is attached now: its own, or that of a monitor that was killed. */
static void find_links(__u32 program)
{
	__u32 id = 0;

	while (link_count < MOST_LINKS && bpf_link_get_next_id(id, &id) == 0) {
		struct bpf_link_info facts = { 0 };
		__u32 bytes = sizeof(facts);
		int fd = bpf_link_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &facts, &bytes) == 0 &&
		    facts.type == BPF_LINK_TYPE_XDP && facts.prog_id == program)
			links[link_count++] = fd;
		else
			close(fd);
	}
}

static bool is_of_sfcmon(const char *name)
{
	static const char *const names[] = { "cms",  "bloom",	   "iblt",	 "locks",
					     "work", SFCMON_STATE, SFCMON_SIZES, NULL };

	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Use the maps of the program that runs. Those that it has not are not needed, or SFCMon's. */
static int share_maps(const struct program *running)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, skeleton->obj)
	{
		const char *name = short_name(bpf_map__name(map));
		struct bpf_map_info facts;
		int fd, error;

		if (is_of_sfcmon(name))
			continue;
		fd = find_map(running, name, &facts);
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
	struct program running = { 0 };
	__u32 id = 0, settings;

	if (bpf_xdp_query_id(port->index, XDP_FLAGS_DRV_MODE, &id) || !id ||
	    read_program(id, &running) || !running.is_sff ||
	    !has_map(&running, SETTINGS, &settings) || find_original(settings)) {
		complain("no sfc-sff serves the interface %s", port->name);
		return NULL;
	}
	find_links(id);
	skeleton = monitored_sff_bpf__open();
	if (!skeleton) {
		complain("cannot open the BPF program: %s", strerror(errno));
		return NULL;
	}
	bpf_program__set_autoload(skeleton->progs.output, false);
	return share_maps(&running) ? NULL : skeleton->obj;
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

/* But where yet another one has taken the place meanwhile. */
void detach_sff(void)
{
	LIBBPF_OPTS(bpf_link_update_opts, how, .flags = BPF_F_REPLACE,
		    .old_prog_fd = (__u32)bpf_program__fd(skeleton->progs.sff));

	for (unsigned int i = 0; i < link_count; i++)
		bpf_link_update(links[i], original.fd, &how);
}
