// SPDX-License-Identifier: Apache-2.0
/* The registers of both banks: sizes them, maps them, switches banks, prints them. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../../../dataplane/common/report.h"
#include "registers.h"
#include "table.h"

#define VISIBLE_NS 50000 /* in this time a CPU's stores reach the others, whatever it does */
#define KEY_DIGITS (2 * SFCMON_IPV6_WORDS * sizeof(__u32))

static struct bpf_object *object;
static struct sfcmon_state *state;
static __u32 iblt_hashes;
static bool has_table; /* a table takes the place of the sketches */
static int work_fd;
static struct sfcmon_counters *cms;
static __u64 *bloom;
static struct sfcmon_cell *iblt;
static size_t cms_elements, bloom_words, iblt_cells; /* of a bank */
static struct sfcmon_work *before, *now; /* one of each CPU, for wait_for_packets() */
static size_t cpus; /* CPUs that there may be */

static struct bpf_map *map_of(const char *name)
{
	return bpf_object__find_map_by_name(object, name);
}

/* Set a map's size: so many bytes in each element, and an element for each bank of each part.
 * Returns 0, or an error after complain(). */
static int set_size(const char *name, size_t bytes, size_t parts)
{
	struct bpf_map *map = map_of(name);
	int error = bytes > UINT32_MAX ? -E2BIG : bpf_map__set_value_size(map, (__u32)bytes);

	if (!error)
		error = bpf_map__set_max_entries(map, (__u32)(SFCMON_BANKS * parts));
	if (error)
		complain("cannot set the size of the registers %s: %s", name, strerror(-error));
	return error;
}

int registers_size(struct bpf_object *opened, const struct sizes *sizes, bool table)
{
	const struct sfcmon_sizes initial = {
		.cms_rows = (__u32)sizes->cms_rows,
		.cms_columns = (__u32)sizes->cms_columns,
		.bloom_bits = (__u32)sizes->bloom_bits,
		.bloom_hashes = (__u32)sizes->bloom_hashes,
		.iblt_cells = (__u32)sizes->iblt_cells,
		.iblt_hashes = (__u32)sizes->iblt_hashes,
	};
	int possible = libbpf_num_possible_cpus(), error;

	object = opened;
	has_table = table;
	cpus = possible > 0 ? (size_t)possible : 1;
	if (cpus * SFCMON_BANKS * (size_t)sizes->iblt_cells > UINT32_MAX) {
		complain("%ld cells of the IBLT are too many for %zu CPUs, which have one each",
			 sizes->iblt_cells, cpus);
		return -1;
	}
	cms_elements = (size_t)sizes->cms_rows * sfcmon_row_elements((__u32)sizes->cms_columns);
	bloom_words = sfcmon_bloom_words((__u32)sizes->bloom_bits);
	iblt_cells = (size_t)sizes->iblt_cells;
	iblt_hashes = (__u32)sizes->iblt_hashes;
	error = bpf_map__set_initial_value(map_of(SFCMON_SIZES), &initial, sizeof(initial));
	if (error)
		complain("cannot set the sizes of the registers: %s", strerror(-error));
	/* Each CPU has an IBLT of its own. */
	return error || set_size("cms", cms_elements * sizeof(*cms), 1) ||
			       set_size("bloom", bloom_words * sizeof(*bloom), 1) ||
			       set_size("iblt", iblt_cells * sizeof(*iblt), cpus)
		       ? -1
		       : 0;
}

/* Map an array of the kernel into memory. Returns NULL after complain(). */
static void *open_map(const char *name)
{
	const struct bpf_map *map = map_of(name);
	size_t bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	void *there = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (there != MAP_FAILED)
		return there;
	complain("cannot map the registers %s: %s", name, strerror(errno));
	return NULL;
}

static void set_thresholds(int bank, const struct thresholds *thresholds)
{
	struct sfcmon_bank *registers = &state->banks[bank];

	registers->threshold_eval = thresholds->eval;
	registers->threshold_share = thresholds->share;
	registers->threshold_packets = thresholds->packets;
}

int registers_open(const struct thresholds *thresholds)
{
	cms = open_map("cms");
	bloom = open_map("bloom");
	iblt = open_map("iblt");
	state = open_map(SFCMON_STATE);
	work_fd = bpf_map__fd(map_of("work"));
	before = calloc(cpus, sizeof(*before));
	now = calloc(cpus, sizeof(*now));
	if (!before || !now)
		complain("not enough memory");
	if (!cms || !bloom || !iblt || !state || !before || !now)
		return -1;
	set_thresholds(0, thresholds);
	return 0;
}

/* Return the cells of the IBLT of a CPU in a bank. */
static struct sfcmon_cell *part_of(size_t cpu, int bank)
{
	return &iblt[(cpu * SFCMON_BANKS + (size_t)bank) * iblt_cells];
}

/* Return a cell of the IBLT, summed over all CPUs. */
static struct sfcmon_cell cell_at(size_t place, int bank)
{
	struct sfcmon_cell sum = { 0 };

	for (size_t cpu = 0; cpu < cpus; cpu++) {
		const struct sfcmon_cell *cell = &part_of(cpu, bank)[place];

		sum.count += cell->count;
		sum.checksum ^= cell->checksum;
		for (size_t i = 0; i < SFCMON_IPV6_WORDS; i++)
			sum.key_sum[i] ^= cell->key_sum[i];
		sum.packets += cell->packets;
		sum.bytes += cell->bytes;
	}
	return sum;
}

/* Clear a bank. Returns 0, or -1 after complain(). */
static int clear(int bank)
{
	memset(&cms[(size_t)bank * cms_elements], 0, cms_elements * sizeof(*cms));
	memset(&bloom[(size_t)bank * bloom_words], 0, bloom_words * sizeof(*bloom));
	for (size_t cpu = 0; cpu < cpus; cpu++)
		memset(part_of(cpu, bank), 0, iblt_cells * sizeof(*iblt));
	memset(&state->banks[bank], 0, sizeof(state->banks[bank]));
	return has_table ? table_clear(bank) : 0;
}

static void pause_ns(long nanoseconds)
{
	const struct timespec time = { .tv_nsec = nanoseconds };

	nanosleep(&time, NULL);
}

/* Read which CPUs are at a packet: an element of `works` for each. Returns 0, or an error after
 * complain(). */
static int read_work(struct sfcmon_work *works)
{
	__u32 only = 0;
	int error = bpf_map_lookup_elem(work_fd, &only, works);

	if (error)
		complain("cannot read which CPUs are at a packet: %s", strerror(-error));
	return error;
}

/* Wait until no CPU is still at the packet at which it was when this was called. Returns 0, or
 * -1 after complain(). */
static int wait_for_packets(void)
{
	bool waiting = true;

	/* Before this time is over, a CPU may have read the old bank while its turn is not
	 * visible yet. */
	pause_ns(VISIBLE_NS);
	if (read_work(before))
		return -1;
	for (;;) {
		if (read_work(now))
			return -1;
		waiting = false;
		for (size_t cpu = 0; cpu < cpus; cpu++)
			waiting |= before[cpu].turns % 2 && now[cpu].turns == before[cpu].turns;
		if (!waiting)
			return 0;
		pause_ns(VISIBLE_NS);
	}
}

int registers_switch(const struct thresholds *thresholds)
{
	int ended = (int)state->active, next = !ended;

	if (clear(next))
		return -1;
	/* Packets meet the thresholds as soon as the bank is active. */
	set_thresholds(next, thresholds);
	__atomic_store_n(&state->active, (__u32)next, __ATOMIC_SEQ_CST);
	return wait_for_packets() ? -1 : ended;
}

__u64 registers_inserted(void)
{
	__u64 sum = 0;

	for (size_t i = 0; i < iblt_cells; i++)
		sum += cell_at(i, (int)state->active).count;
	/* Each flow is in so many cells. */
	return sum / iblt_hashes;
}

__u32 registers_packets(void)
{
	return state->banks[state->active].packets;
}

static void print_cell(size_t place, const struct sfcmon_cell *cell, FILE *out)
{
	const unsigned char *bytes = (const unsigned char *)cell->key_sum;
	char key[KEY_DIGITS + 1];

	for (size_t i = 0; i < sizeof(cell->key_sum); i++)
		snprintf(&key[2 * i], 3, "%02x", bytes[i]);
	fprintf(out, "[%zu, %u, \"%s\", %u, %u, %llu]", place, cell->count, key, cell->checksum,
		cell->packets, cell->bytes);
}

/* Print the thresholds, and the cells of the IBLT that are not 0. */
static void print_sketches(int bank, FILE *out)
{
	const struct sfcmon_bank *registers = &state->banks[bank];
	static const struct sfcmon_cell empty;
	const char *separator = "";

	fprintf(out, ", \"thresholds\": {\"eval\": %u, \"share\": %u, \"packets\": %u}",
		registers->threshold_eval, registers->threshold_share,
		registers->threshold_packets);
	fputs(", \"iblt\": [", out);
	for (size_t i = 0; i < iblt_cells; i++) {
		const struct sfcmon_cell cell = cell_at(i, bank);

		if (memcmp(&cell, &empty, sizeof(empty)) == 0)
			continue;
		fputs(separator, out);
		print_cell(i, &cell, out);
		separator = ", ";
	}
	fputs("]", out);
}

int registers_print(int bank, FILE *out)
{
	const struct sfcmon_bank *registers = &state->banks[bank];

	fprintf(out, "\"packets\": %u, \"unparsed\": [", registers->packets);
	for (int i = 0; i < SFCMON_REASONS; i++)
		fprintf(out, "%s%u", i ? ", " : "", registers->unparsed[i]);
	fputs("]", out);
	if (!has_table) {
		print_sketches(bank, out);
		return 0;
	}
	fprintf(out, ", \"untracked\": %u", registers->untracked);
	return table_print(bank, out);
}
