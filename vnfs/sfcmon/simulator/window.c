// SPDX-License-Identifier: Apache-2.0
/* Prints a window as a line of JSON: what the sketches report, and how right that is. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "window.h"

struct score {
	uint64_t true_positives, false_positives, false_negatives, true_negatives;
};

/* Does a source have this share of the window's packets, in units of 2^-32? */
static bool is_true_heavy_hitter(const struct source *source, uint64_t packets, uint32_t share)
{
	return (unsigned __int128)source->packets << 32 >= (unsigned __int128)share * packets;
}

/* Order sources by their packets, most first. The order of equal ones does not depend on the
 * hash table. */
static int compare(const void *left, const void *right)
{
	const struct source *a = *(const struct source *const *)left;
	const struct source *b = *(const struct source *const *)right;

	if (a->packets != b->packets)
		return a->packets < b->packets ? 1 : -1;
	return memcmp(a->key, b->key, sizeof(a->key));
}

static void print_source(const struct source *source, bool heavy, bool first)
{
	int family = source->words == 2 ? AF_INET : AF_INET6;
	uint32_t path = ntohl(source->key[0]);
	char address[INET6_ADDRSTRLEN];

	inet_ntop(family, &source->key[1], address, sizeof(address));
	printf("%s[\"%s\", %u, %u, %u, %s]", first ? "" : ", ", address, path >> 8, path & 0xff,
	       source->packets, heavy ? "true" : "false");
}

/* Print the sources that were reported: address, SPI, SI, packets, whether it is a heavy hitter.
 * Count all sources in `score`. */
static void print_reported(const struct truth *truth, uint32_t share, struct score *score)
{
	const struct source **reported = allocate(truth->used + 1, sizeof(*reported));
	size_t count = 0;

	for (const struct source *s = truth->sources; s < truth->sources + truth->places; s++) {
		bool heavy = s->packets && is_true_heavy_hitter(s, truth->packets, share);

		if (!s->packets)
			continue;
		if (s->reported)
			reported[count++] = s;
		score->true_positives += heavy && s->reported;
		score->false_positives += !heavy && s->reported;
		score->false_negatives += heavy && !s->reported;
		score->true_negatives += !heavy && !s->reported;
	}
	qsort(reported, count, sizeof(*reported), compare);
	printf("\"heavy_hitters\": [");
	for (size_t i = 0; i < count; i++)
		print_source(reported[i], is_true_heavy_hitter(reported[i], truth->packets, share),
			     i == 0);
	printf("], ");
	free(reported);
}

static void print_iblt(const struct sketch *sketch)
{
	static const struct cell empty;
	const char *separator = "";

	printf("\"iblt\": [");
	for (long i = 0; i < sketch->sizes.iblt_cells; i++) {
		const struct cell *cell = &sketch->iblt[i];

		if (memcmp(cell, &empty, sizeof(empty)) == 0)
			continue;
		printf("%s[%ld, %u, \"", separator, i, cell->count);
		for (unsigned int word = 0; word < SFCMON_IPV6_WORDS; word++)
			printf("%08x", ntohl(cell->key_sum[word]));
		printf("\", %u, %u, %" PRIu64 "]", cell->checksum, cell->packets, cell->bytes);
		separator = ", ";
	}
	printf("]");
}

/* Print the counters of the CMS that are not 0, and the bits of the Bloom filter that are set. */
static void print_other_registers(const struct sketch *sketch)
{
	const char *separator = "";

	printf(", \"cms\": [");
	for (long row = 0; row < sketch->sizes.cms_rows; row++)
		for (long column = 0; column < sketch->sizes.cms_columns; column++) {
			uint32_t value = sketch->cms[row * sketch->sizes.cms_columns + column];

			if (!value)
				continue;
			printf("%s[%ld, %ld, %u]", separator, row, column, value);
			separator = ", ";
		}
	printf("], \"bloom\": [");
	separator = "";
	for (long bit = 0; bit < sketch->sizes.bloom_bits; bit++)
		if (sketch->bloom[bit / 64] >> bit % 64 & 1) {
			printf("%s%ld", separator, bit);
			separator = ", ";
		}
	printf("]");
}

bool window_print(const struct window *window, uint32_t share, bool registers)
{
	const struct sketch *sketch = &window->sketch;
	const struct truth *truth = &window->truth;
	struct score score = { 0 };

	printf("{\"event\": \"window\", \"index\": %" PRIu64 ", \"begin_ns\": %" PRIu64
	       ", \"last_ns\": %" PRIu64 ", \"packets\": %u, \"bytes\": %" PRIu64
	       ", \"sources\": %zu, \"unparsed\": [",
	       window->index, window->begin_ns, window->last_ns, sketch->packets, truth->bytes,
	       truth->used);
	for (int reason = 0; reason < SFCMON_REASONS; reason++)
		printf("%s%u", reason ? ", " : "", sketch->unparsed[reason]);
	printf("], \"thresholds\": [%u, %u, %u], ", sketch->thresholds.eval,
	       sketch->thresholds.share, sketch->thresholds.packets);
	print_reported(truth, share, &score);
	printf("\"true_positives\": %" PRIu64 ", \"false_positives\": %" PRIu64
	       ", \"false_negatives\": %" PRIu64 ", \"true_negatives\": %" PRIu64 ", ",
	       score.true_positives, score.false_positives, score.false_negatives,
	       score.true_negatives);
	print_iblt(sketch);
	if (registers)
		print_other_registers(sketch);
	return puts("}") >= 0 && fflush(stdout) == 0;
}
