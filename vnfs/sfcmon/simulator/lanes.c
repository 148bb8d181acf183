// SPDX-License-Identifier: Apache-2.0
#include "lanes.h"
#include "../murmur.h"

#define BLOCK 16 /* lanes; the last block hashes a few too many */

/* One program for all CPUs of an architecture, with the vectors of the one that it runs on. */
#if defined(__x86_64__) && !defined(__clang__)
#define VECTORS                                                                                    \
	__attribute__((target_clones("avx512f", "avx2", "sse4.1", "default"), optimize("O3")))
#else
#define VECTORS
#endif

VECTORS void lanes_prepare(struct lanes *lanes)
{
	for (unsigned int word = 0; word < lanes->words; word++)
		for (unsigned int block = 0; block < lanes->count; block += BLOCK)
			for (unsigned int i = block; i < block + BLOCK; i++)
				lanes->word[word][i] = murmur_word(lanes->word[word][i]);
}

VECTORS void lanes_hash(const struct lanes *lanes, uint32_t seed, uint32_t cells, uint32_t *indices)
{
	for (unsigned int block = 0; block < lanes->count; block += BLOCK) {
		uint32_t state[BLOCK];

		for (unsigned int i = 0; i < BLOCK; i++)
			state[i] = seed;
		for (unsigned int word = 0; word < lanes->words; word++)
			for (unsigned int i = 0; i < BLOCK; i++)
				state[i] = murmur_step(state[i], lanes->word[word][block + i]);
		for (unsigned int i = 0; i < BLOCK; i++)
			indices[block + i] =
				murmur_reduce(murmur_end(state[i], 4 * lanes->words), cells);
	}
}
