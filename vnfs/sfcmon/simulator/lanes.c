// SPDX-License-Identifier: Apache-2.0
/* Hashes many keys at a time, by vectors. */
#include "lanes.h"
#include "../murmur.h"

/* One program serves all CPUs of an architecture, and uses the vectors of the one that it runs
 * on. */
#if defined(__x86_64__) && !defined(__clang__)
#define VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORS
#endif

#define BLOCK 16 /* lanes; the last block also hashes a few that are not used */

/* Vectors of GCC and Clang, which make instructions of the CPU from them. */
typedef uint32_t block_t __attribute__((vector_size(BLOCK * 4)));
typedef uint64_t wide_t __attribute__((vector_size(BLOCK * 4)));

/* murmur_rotate() for a vector: the functions of murmur.h take numbers. */
#define ROTATE(value, by) ((value) << (by) | (value) >> (32 - (by)))

VECTORS void lanes_prepare(struct lanes *lanes)
{
	for (unsigned int word = 0; word < lanes->words; word++)
		for (unsigned int first = 0; first < lanes->count; first += BLOCK) {
			block_t *block = (block_t *)&lanes->word[word][first];
			block_t mixed = *block * 0xcc9e2d51;

			/* This is murmur_word(). */
			*block = ROTATE(mixed, 15) * 0x1b873593;
		}
}

VECTORS void lanes_hash(const struct lanes *lanes, uint32_t seed, uint32_t cells, uint32_t *indices)
{
	for (unsigned int first = 0; first < lanes->count; first += BLOCK) {
		block_t state = (block_t){ 0 } + seed;
		wide_t even, odd;

		/* These are murmur_step() and murmur_end(). */
		for (unsigned int word = 0; word < lanes->words; word++) {
			state ^= *(const block_t *)&lanes->word[word][first];
			state = ROTATE(state, 13) * 5 + 0xe6546b64;
		}
		state ^= 4 * lanes->words;
		state = (state ^ state >> 16) * 0x85ebca6b;
		state = (state ^ state >> 13) * 0xc2b2ae35;
		state ^= state >> 16;
		/* This is murmur_reduce(). Even and odd lanes are computed apart, because
		 * products of 64 bits need the room of two lanes. */
		even = ((wide_t)state & 0xffffffff) * cells >> 32;
		odd = ((wide_t)state >> 32) * cells & 0xffffffff00000000;
		*(block_t *)&indices[first] = (block_t)(even | odd);
	}
}
