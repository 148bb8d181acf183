// SPDX-License-Identifier: Apache-2.0
/* The sketches of SFCMon, for batches of packets. */
#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "sketch.h"
#include "../murmur.h"
#include "../../../dataplane/common/report.h"

enum { V4, V6, VERSIONS };

#define BITS_PER_WORD 64
#define CACHE_LINE 64
#define STAGE_2_ROWS (SFCMON_BLOOM_HASHES + SFCMON_IBLT_HASHES)

void *allocate(size_t count, size_t size)
{
	size_t bytes = 0;
	void *memory = NULL;

	if (!__builtin_mul_overflow(count, size, &bytes))
		memory = aligned_alloc(CACHE_LINE, (bytes / CACHE_LINE + 1) * CACHE_LINE);
	if (!memory) {
		complain("not enough memory for %zu times %zu bytes", count, size);
		exit(1);
	}
	return memset(memory, 0, bytes);
}

static size_t cms_cells(const struct sizes *sizes)
{
	return (size_t)(sizes->cms_rows * sizes->cms_columns);
}

static size_t bloom_words(const struct sizes *sizes)
{
	return (size_t)(sizes->bloom_bits + BITS_PER_WORD - 1) / BITS_PER_WORD;
}

void sketch_create(struct sketch *sketch, const struct sizes *sizes,
		   const struct thresholds *thresholds)
{
	*sketch = (struct sketch){
		.sizes = *sizes,
		.thresholds = *thresholds,
		.cms = allocate(cms_cells(sizes), sizeof(*sketch->cms)),
		.bloom = allocate(bloom_words(sizes), sizeof(*sketch->bloom)),
		.iblt = allocate((size_t)sizes->iblt_cells, sizeof(*sketch->iblt)),
	};
}

void sketch_clear(struct sketch *sketch)
{
	const struct sizes *sizes = &sketch->sizes;

	sketch->packets = 0;
	memset(sketch->unparsed, 0, sizeof(sketch->unparsed));
	memset(sketch->cms, 0, cms_cells(sizes) * sizeof(*sketch->cms));
	memset(sketch->bloom, 0, bloom_words(sizes) * sizeof(*sketch->bloom));
	memset(sketch->iblt, 0, (size_t)sizes->iblt_cells * sizeof(*sketch->iblt));
}

uint64_t sketch_inserted(const struct sketch *sketch)
{
	uint64_t sum = 0;

	for (long i = 0; i < sketch->sizes.iblt_cells; i++)
		sum += sketch->iblt[i].count;
	return sum / (uint64_t)sketch->sizes.iblt_hashes;
}

/* Add 1 to a counter, unless it is at `most`, where it stays. */
static void count_up(uint32_t *counter, uint32_t most)
{
	*counter += *counter < most;
}

/* Hash each packet once for each row, with the seed `seed` + row: to[row][packet] is its place,
 * below `size`. `groups` are the keys of IPv4 and those of IPv6. */
static void hash_rows(const struct lanes *groups, unsigned int rows, uint32_t seed, long size,
		      uint32_t (*to)[BATCH])
{
	_Alignas(64) uint32_t indices[BATCH];

	for (unsigned int version = V4; version < VERSIONS; version++) {
		const struct lanes *lanes = &groups[version];

		for (unsigned int row = 0; row < rows; row++) {
			lanes_hash(lanes, seed + row, (uint32_t)size, indices);
			for (unsigned int lane = 0; lane < lanes->count; lane++)
				to[row][lanes->packet[lane]] = indices[lane];
		}
	}
}

/* By row and chosen packet: its column in this row of the CMS. */
static uint32_t columns[SFCMON_CMS_ROWS][BATCH];

/* Hash FlowID1 of the chosen packets to `columns`, in a group for each IP version. */
static void find_columns(const struct sizes *sizes, const struct packet *packets,
			 const uint16_t *chosen, unsigned int count)
{
	static struct lanes groups[VERSIONS] = { { .words = 2 }, { .words = 5 } };

	groups[V4].count = groups[V6].count = 0;
	for (unsigned int i = 0; i < count; i++) {
		const struct packet *packet = &packets[chosen[i]];
		struct lanes *lanes = &groups[packet->words == SFCMON_IPV6_WORDS ? V6 : V4];
		unsigned int lane = lanes->count++;

		lanes->packet[lane] = (uint16_t)i;
		lanes->word[0][lane] = packet->key[0];
		for (unsigned int word = 1; word < lanes->words; word++)
			lanes->word[word][lane] = packet->key[SFCMON_SOURCE_WORD + word - 1];
	}
	lanes_prepare(&groups[V4]);
	lanes_prepare(&groups[V6]);
	hash_rows(groups, (unsigned int)sizes->cms_rows, SFCMON_CMS_SEED, sizes->cms_columns,
		  columns);
}

/* Count the chosen packets in the CMS. `estimates` gets for each the estimate of its source, as it
 * is when the packet was counted. This goes row by row: a row does not depend on the others, and
 * stays in the fastest cache. */
static void update_cms(struct sketch *sketch, unsigned int count, uint32_t *estimates)
{
	uint32_t *cells = sketch->cms;

	/* All bits are set: no counter is larger. */
	memset(estimates, 0xff, count * sizeof(*estimates));
	for (unsigned int row = 0; row < sketch->sizes.cms_rows; row++) {
		for (unsigned int i = 0; i < count; i++) {
			uint32_t *cell = &cells[columns[row][i]];

			count_up(cell, SFCMON_CMS_MAX);
			estimates[i] = *cell < estimates[i] ? *cell : estimates[i];
		}
		cells += sketch->sizes.cms_columns;
	}
}

/* Is a source with this estimate a heavy hitter now? */
static bool is_heavy(const struct sketch *sketch, uint32_t estimate)
{
	const struct thresholds *limits = &sketch->thresholds;

	/* There are no branches here, because nobody can predict whether a packet belongs to a
	 * heavy hitter. */
	return (sketch->packets >= limits->eval) & (estimate >= limits->packets) &
	       ((uint64_t)estimate << 32 >= (uint64_t)limits->share * sketch->packets);
}

/* By row and chosen packet: its place. The first rows are hash functions of the Bloom filter, whose
 * places are bits; the next ones are those of the IBLT, whose places are cells. */
static uint32_t places[STAGE_2_ROWS][BATCH];

/* Is the cell of chosen packet `i` in this row also its cell in an earlier row, from `first` on? */
static bool is_taken(unsigned int first, unsigned int row, unsigned int i)
{
	bool taken = false;

	for (unsigned int earlier = first; earlier < row; earlier++)
		taken |= places[earlier][i] == places[row][i];
	return taken;
}

/* Make the cells of each flow in `places` different: where a row gives a cell that the flow has
 * already, it takes the next one. */
static void make_cells_different(const struct sizes *sizes, unsigned int count)
{
	const unsigned int first = (unsigned int)sizes->bloom_hashes;

	for (unsigned int i = 0; i < count; i++)
		for (unsigned int row = first + 1; row < first + sizes->iblt_hashes; row++)
			while (is_taken(first, row, i))
				if (++places[row][i] == sizes->iblt_cells)
					places[row][i] = 0;
}

/* Hash FlowID2 of the chosen packets to `places`. */
static void find_places(const struct sizes *sizes, const struct packet *packets,
			const uint16_t *chosen, unsigned int count)
{
	static struct lanes groups[VERSIONS] = { { .words = SFCMON_IPV4_WORDS },
						 { .words = SFCMON_IPV6_WORDS } };
	const unsigned int bloom = (unsigned int)sizes->bloom_hashes;

	groups[V4].count = groups[V6].count = 0;
	for (unsigned int i = 0; i < count; i++) {
		const struct packet *packet = &packets[chosen[i]];
		struct lanes *lanes = &groups[packet->words == SFCMON_IPV6_WORDS ? V6 : V4];

		for (unsigned int word = 0; word < lanes->words; word++)
			lanes->word[word][lanes->count] = packet->key[word];
		lanes->packet[lanes->count++] = (uint16_t)i;
	}
	lanes_prepare(&groups[V4]);
	lanes_prepare(&groups[V6]);
	hash_rows(groups, bloom, SFCMON_BLOOM_SEED, sizes->bloom_bits, places);
	hash_rows(groups, (unsigned int)sizes->iblt_hashes, SFCMON_IBLT_SEED, sizes->iblt_cells,
		  places + bloom);
	make_cells_different(sizes, count);
}

/* Set the bits of the flow of chosen packet `i`. Returns whether they were all set before. */
static bool add_to_bloom(struct sketch *sketch, unsigned int i)
{
	uint64_t stored = 1;

	for (unsigned int row = 0; row < sketch->sizes.bloom_hashes; row++) {
		uint32_t bit = places[row][i];
		uint64_t *word = &sketch->bloom[bit / BITS_PER_WORD];

		stored &= *word >> bit % BITS_PER_WORD;
		*word |= 1ULL << bit % BITS_PER_WORD;
	}
	return stored;
}

static uint32_t checksum(const struct packet *packet)
{
	uint32_t state = SFCMON_CHECKSUM_SEED;

	for (unsigned int word = 0; word < packet->words; word++)
		state = murmur_step(state, murmur_word(packet->key[word]));
	return murmur_end(state, 4 * packet->words);
}

/* InsertIBLT for the flow of `packet`, which is chosen packet `i`. */
static void insert_flow(struct sketch *sketch, const struct packet *packet, unsigned int i)
{
	uint32_t hash = checksum(packet);

	for (unsigned int row = 0; row < sketch->sizes.iblt_hashes; row++) {
		struct cell *cell = &sketch->iblt[places[sketch->sizes.bloom_hashes + row][i]];

		cell->count++;
		cell->checksum ^= hash;
		for (unsigned int word = 0; word < packet->words; word++)
			cell->key_sum[word] ^= packet->key[word];
	}
}

/* UpdateIBLT for `packet`, which is chosen packet `i`. */
static void update_flow(struct sketch *sketch, const struct packet *packet, unsigned int i)
{
	for (unsigned int row = 0; row < sketch->sizes.iblt_hashes; row++) {
		struct cell *cell = &sketch->iblt[places[sketch->sizes.bloom_hashes + row][i]];

		cell->packets++;
		cell->bytes += packet->size;
	}
}

/* Stage 1: count the chosen packets, and find those that belong to heavy hitters. `chosen` has the
 * numbers of `count` packets, and keeps only these. Returns how many there are. */
static unsigned int find_heavy(struct sketch *sketch, const struct packet *packets,
			       uint16_t *chosen, unsigned int count)
{
	uint32_t estimates[BATCH];
	unsigned int heavy = 0;

	find_columns(&sketch->sizes, packets, chosen, count);
	update_cms(sketch, count, estimates);
	for (unsigned int i = 0; i < count; i++) {
		count_up(&sketch->packets, UINT32_MAX);
		/* Stays there only if `heavy` grows. */
		chosen[heavy] = chosen[i];
		heavy += is_heavy(sketch, estimates[i]);
	}
	return heavy;
}

void sketch_process(struct sketch *sketch, const struct packet *packets, unsigned int count,
		    bool *heavy)
{
	uint16_t chosen[BATCH]; /* numbers of packets: those that are parsed, then the heavy ones */
	unsigned int chosen_count = 0;

	for (unsigned int i = 0; i < count; i++) {
		heavy[i] = false;
		if (packets[i].words == NOT_PARSED)
			/* The size is then the reason. */
			count_up(&sketch->unparsed[packets[i].size], UINT32_MAX);
		else
			chosen[chosen_count++] = (uint16_t)i;
	}
	chosen_count = find_heavy(sketch, packets, chosen, chosen_count);
	/* Stage 2: store the flows of heavy hitters, and count their packets. */
	find_places(&sketch->sizes, packets, chosen, chosen_count);
	for (unsigned int i = 0; i < chosen_count; i++) {
		const struct packet *packet = &packets[chosen[i]];

		heavy[chosen[i]] = true;
		if (!add_to_bloom(sketch, i))
			insert_flow(sketch, packet, i);
		update_flow(sketch, packet, i);
	}
}
