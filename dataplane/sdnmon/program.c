// SPDX-License-Identifier: Apache-2.0
/* Loads, pins and opens SDN-Mon's programs and maps. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../common/clock.h"
#include "../common/libbpf_log.h"
#include "../common/report.h"
#include "program.h"
#include "sdnmon.skel.h"

#define CLOCK CLOCK_MONOTONIC_COARSE /* the clock that the programs use */
#define CONFIG_PIN "config"
#define LIVE_PIN "live"

/* Initializes an array of struct pin: the names of the pins, and where their descriptors are
 * kept. */
#define PINS(program)                                                                              \
	{                                                                                          \
		{ "table", &(program)->table }, { "excluded", &(program)->excluded },              \
			{ "unmonitored", &(program)->unmonitored },                                \
			{ "totals", &(program)->totals }, { "events", &(program)->events },        \
			{ "arrive", &(program)->arrive },                                          \
			{ "arrive_xdp", &(program)->arrive_xdp },                                  \
			{ "forwarders", &(program)->forwarders },                                  \
		{                                                                                  \
			"change_table", &(program)->change_table                                   \
		}                                                                                  \
	}

struct pin {
	const char *name;
	int *fd; /* its descriptor is kept here */
};

__u64 program_epoch(const struct program *program)
{
	const struct sdnmon_clock *clock = &program->live->clocks[program->live->clock];
	__u64 now = clock_ns(CLOCK);

	return clock->first +
	       (now > clock->since_ns ? (now - clock->since_ns) / clock->interval_ns : 0);
}

void program_set_interval(const struct program *program, __u64 interval_ns)
{
	struct sdnmon_live *live = program->live;
	__u64 other = !live->clock;

	/* The clock that is not in use is written, so that the programs never read half of a new
	 * one. */
	live->clocks[other] = (struct sdnmon_clock){
		.since_ns = clock_ns(CLOCK),
		.interval_ns = interval_ns,
		.first = program_epoch(program) + 1,
	};
	__atomic_store_n(&live->clock, other, __ATOMIC_RELEASE);
}

/* Give the maps the sizes that the settings need. Returns 0; anything else with errno set. */
static int set_sizes(struct sdnmon_bpf *skeleton, const struct sdnmon_config *config)
{
	__u32 key = config->words * (__u32)sizeof(__u32);
	__u32 entry =
		(__u32)(sizeof(struct sdnmon_entry) + config->slots * sizeof(struct sdnmon_slot));
	/* Entries of the Bloom filter. Each flow that sampling left out takes one, so it has
	 * several times those of the table. It must have one even if it is not used. */
	__u32 marked = config->mode == SDNMON_BLOOM ? 8 * config->capacity : 1;

	return bpf_map__set_key_size(skeleton->maps.table, key) ||
	       bpf_map__set_value_size(skeleton->maps.table, entry) ||
	       bpf_map__set_max_entries(skeleton->maps.table, config->capacity) ||
	       bpf_map__set_value_size(skeleton->maps.blank, entry) ||
	       bpf_map__set_key_size(skeleton->maps.excluded, key) ||
	       bpf_map__set_max_entries(skeleton->maps.excluded, config->capacity) ||
	       bpf_map__set_value_size(skeleton->maps.unmonitored, key) ||
	       bpf_map__set_max_entries(skeleton->maps.unmonitored, marked);
}

/* Pin a map or a program. Returns 0; anything else after complain(). */
static int pin(const char *pins, const char *name, int fd)
{
	char path[PATH_MAX];
	int error;

	snprintf(path, sizeof(path), "%s/%s", pins, name);
	error = bpf_obj_pin(fd, path);
	if (error)
		complain("cannot pin %s: %s", path, strerror(-error));
	return error;
}

/* Make the folder and pin all in it, with `benchmark` also the programs that vary packets. Returns
 * 0; anything else after complain(). */
static int pin_all(const char *pins, const struct sdnmon_bpf *skeleton, bool benchmark)
{
	const struct {
		const char *name;
		int fd;
	} all[] = {
		{ "table", bpf_map__fd(skeleton->maps.table) },
		{ "excluded", bpf_map__fd(skeleton->maps.excluded) },
		{ "unmonitored", bpf_map__fd(skeleton->maps.unmonitored) },
		{ "totals", bpf_map__fd(skeleton->maps.totals) },
		{ "events", bpf_map__fd(skeleton->maps.events) },
		{ "arrive", bpf_program__fd(skeleton->progs.arrive) },
		{ "arrive_xdp", bpf_program__fd(skeleton->progs.arrive_xdp) },
		{ "forwarders", bpf_map__fd(skeleton->maps.forwarders) },
		{ "change_table", bpf_program__fd(skeleton->progs.change_table) },
		{ LIVE_PIN, bpf_map__fd(skeleton->maps.data_sdnmon) },
		{ CONFIG_PIN, bpf_map__fd(skeleton->maps.rodata_sdnmon) },
	};

	if (mkdir(pins, 0700)) {
		complain("cannot make %s: %s", pins, strerror(errno));
		return -1;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (pin(pins, all[i].name, all[i].fd))
			return -1;
	if (!benchmark)
		return 0;
	return pin(pins, "varied", bpf_program__fd(skeleton->progs.varied)) ||
	       pin(pins, "varied_xdp", bpf_program__fd(skeleton->progs.varied_xdp));
}

/* Take a map of an earlier table instead of a new one, if there is one (fd >= 0). Returns 0;
 * anything else with errno set. */
static int reuse(struct bpf_map *map, int fd)
{
	return fd >= 0 && bpf_map__reuse_fd(map, fd);
}

/* Load the programs with these settings, except `notify`. Returns 0, or -1 after complain(). */
static int load(struct sdnmon_bpf *skeleton, const struct settings *settings)
{
	struct sdnmon_live *live = &skeleton->data_sdnmon->live;

	memcpy((void *)&skeleton->rodata_sdnmon->config, &settings->config,
	       sizeof(settings->config));
	live->ratio = settings->ratio;
	live->limit = settings->limit;
	live->clocks[0] = (struct sdnmon_clock){
		.since_ns = clock_ns(CLOCK),
		.interval_ns = settings->interval_ns,
		.first = 1,
	};
	bpf_program__set_autoload(skeleton->progs.varied, settings->config.varied_flows > 0);
	bpf_program__set_autoload(skeleton->progs.varied_xdp, settings->config.varied_flows > 0);
	if (set_sizes(skeleton, &settings->config) ||
	    reuse(skeleton->maps.events, settings->events) ||
	    reuse(skeleton->maps.forwarders, settings->forwarders)) {
		complain("cannot prepare the maps: %s", strerror(errno));
		return -1;
	}
	if (sdnmon_bpf__load(skeleton)) {
		libbpf_complain_of_load("the programs of SDN-Mon", errno);
		return -1;
	}
	return 0;
}

int program_create(const char *pins, const struct settings *settings, struct program *program)
{
	struct sdnmon_bpf *skeleton = sdnmon_bpf__open();
	int error;

	if (!skeleton) {
		complain("cannot open the BPF programs: %s", strerror(errno));
		return -1;
	}
	/* All is opened again by its pins, because the skeleton closes its descriptors at the
	 * end. */
	error = load(skeleton, settings) ||
		pin_all(pins, skeleton, settings->config.varied_flows > 0) ||
		program_open(pins, program);
	if (error)
		program_unpin(pins);
	sdnmon_bpf__destroy(skeleton);
	return error ? -1 : 0;
}

/* Return the descriptor of what is pinned; negative after complain(). */
static int open_pin(const char *pins, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pins, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		complain("cannot open %s: %s", path, strerror(-fd));
	return fd;
}

/* Map the memory of a map that is pinned. Returns NULL after complain(). */
static void *map_memory(const char *pins, const char *name, size_t bytes, int protection)
{
	int fd = open_pin(pins, name);
	void *there;

	if (fd < 0)
		return NULL;
	there = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
	if (there == MAP_FAILED)
		complain("cannot map %s/%s: %s", pins, name, strerror(errno));
	close(fd);
	return there == MAP_FAILED ? NULL : there;
}

void program_close(struct program *program)
{
	const struct pin all[] = PINS(program);

	if (program->config)
		munmap((void *)program->config, sizeof(*program->config));
	if (program->live)
		munmap(program->live, sizeof(*program->live));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (*all[i].fd >= 0)
			close(*all[i].fd);
}

/* Open all that is pinned, as far as possible. Returns 0, or -1 after complain(). */
static int open_all(const char *pins, struct program *program)
{
	const struct pin all[] = PINS(program);

	program->config = map_memory(pins, CONFIG_PIN, sizeof(*program->config), PROT_READ);
	program->live = map_memory(pins, LIVE_PIN, sizeof(*program->live), PROT_READ | PROT_WRITE);
	if (!program->config || !program->live)
		return -1;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if ((*all[i].fd = open_pin(pins, all[i].name)) < 0)
			return -1;
	return 0;
}

int program_open(const char *pins, struct program *program)
{
	const struct pin all[] = PINS(program);

	/* So that program_close() closes only what was opened. */
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		*all[i].fd = -1;
	program->config = NULL;
	program->live = NULL;
	if (open_all(pins, program) == 0)
		return 0;
	program_close(program);
	return -1;
}

void program_unpin(const char *pins)
{
	DIR *folder = opendir(pins);
	const struct dirent *file;

	if (!folder)
		return;
	while ((file = readdir(folder)))
		if (*file->d_name != '.')
			unlinkat(dirfd(folder), file->d_name, 0);
	closedir(folder);
	rmdir(pins);
}
