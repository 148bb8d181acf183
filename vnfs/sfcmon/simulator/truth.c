// SPDX-License-Identifier: Apache-2.0
/* Counts the packets of each source exactly, in a hash table. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "sketch.h"
#include "truth.h"

#define FEWEST_PLACES (1 << 12)

/* The secret is drawn when the tool starts, so that nobody can make a trace whose sources all
 * collide. */
static uint64_t secret[3];

void truth_create(struct truth *truth)
{
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		memset(secret, 0x5b, sizeof(secret));
	*truth = (struct truth){
		.sources = allocate(FEWEST_PLACES, sizeof(*truth->sources)),
		.places = FEWEST_PLACES,
	};
}

void truth_clear(struct truth *truth)
{
	/* The table shrinks, so that a window with many sources does not make later ones slow. */
	if (truth->places > FEWEST_PLACES && truth->used < truth->places / 16) {
		free(truth->sources);
		truth->places /= 4;
		truth->sources = allocate(truth->places, sizeof(*truth->sources));
	} else {
		memset(truth->sources, 0, truth->places * sizeof(*truth->sources));
	}
	truth->used = 0;
	truth->packets = truth->bytes = 0;
}

/* Fold both halves of a product: each bit of the result depends on all bits of both numbers. */
static uint64_t folded(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hash a key of 2 words at least, by the secret. */
static uint64_t hash(const uint32_t *key, unsigned int words)
{
	uint64_t state = folded(((uint64_t)key[0] << 32 | key[1]) ^ secret[0], secret[1] | 1);

	for (unsigned int word = 2; word < words; word++)
		state = folded(state ^ key[word], secret[2] | 1);
	return state;
}

/* Return the place of a key, or the free one where it belongs. There must be a free one. */
static struct source *place(struct source *sources, size_t places, uint64_t hash,
			    const uint32_t *key, unsigned int words)
{
	struct source *source = &sources[hash & (places - 1)];

	while (source->packets &&
	       !(source->words == words && memcmp(source->key, key, sizeof(source->key)) == 0))
		if (++source == sources + places)
			source = sources;
	return source;
}

/* Double the places of the table. */
static void grow(struct truth *truth)
{
	size_t places = 2 * truth->places;
	struct source *sources = allocate(places, sizeof(*sources));

	for (struct source *old = truth->sources; old < truth->sources + truth->places; old++)
		if (old->packets)
			*place(sources, places, hash(old->key, old->words), old->key, old->words) =
				*old;
	free(truth->sources);
	truth->sources = sources;
	truth->places = places;
}

/* Make the key of a packet's source: FlowID1, with zeros behind it. */
static void source_key(const struct packet *packet, uint32_t *key)
{
	key[0] = packet->key[0];
	key[1] = packet->key[SFCMON_SOURCE_WORD];
	if (packet->words == SFCMON_IPV6_WORDS)
		memcpy(key + 2, &packet->key[SFCMON_SOURCE_WORD + 1], 12);
	else
		memset(key + 2, 0, 12);
}

void truth_count(struct truth *truth, const struct packet *packets, unsigned int count,
		 const bool *heavy)
{
	uint32_t keys[BATCH][SFCMON_ID1_WORDS];
	uint64_t hashes[BATCH];

	/* The table is at most half full, even if all sources of the batch are new. So it does not
	 * move when it was prefetched. */
	while (2 * (truth->used + count) > truth->places)
		grow(truth);
	for (unsigned int i = 0; i < count; i++) {
		if (packets[i].words == NOT_PARSED)
			continue;
		source_key(&packets[i], keys[i]);
		hashes[i] = hash(keys[i], source_words(&packets[i]));
		__builtin_prefetch(&truth->sources[hashes[i] & (truth->places - 1)], 1);
	}
	for (unsigned int i = 0; i < count; i++) {
		unsigned int words = source_words(&packets[i]);
		struct source *source;

		if (packets[i].words == NOT_PARSED)
			continue;
		source = place(truth->sources, truth->places, hashes[i], keys[i], words);
		if (!source->packets) {
			memcpy(source->key, keys[i], sizeof(keys[i]));
			source->words = (uint16_t)words;
			truth->used++;
		}
		source->packets++;
		source->reported |= heavy[i];
		truth->packets++;
		truth->bytes += packets[i].size;
	}
}
