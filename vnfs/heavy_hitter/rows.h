/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the cells of a flow, one in each row of the sketch. */
#pragma once

#include <rte_byteorder.h>
#include <rte_jhash.h>

#include "settings.h"

/* What each row hashes, in network order, as the P4 program does. `a` and `b` are the addresses of
 * IPv4, or two hash values of a flow of IPv6. */
struct row_key {
	uint32_t salt, a, b, ports, protocol;
};

/* Words of 32 bits of a whole key: salt, four addresses' halves of 64 bits, ports and protocol. */
#define FLOW_KEY_WORDS 11

/* Put two hash values of the whole key in place of IPv6 addresses, because a longer key would cost
 * each row twice as much. Their salts are far from those of the rows. */
static inline void rows_hash_ipv6(uint32_t seed, const struct flow_key *key,
				  struct row_key *row_key)
{
	const uint64_t addresses[4] = { key->source_high, key->source_low, key->destination_high,
					key->destination_low };
	uint32_t words[FLOW_KEY_WORDS];

	for (unsigned int i = 0; i < 4; i++) {
		words[1 + 2 * i] = rte_cpu_to_be_32((uint32_t)(addresses[i] >> 32));
		words[2 + 2 * i] = rte_cpu_to_be_32((uint32_t)addresses[i]);
	}
	words[9] = row_key->ports;
	words[10] = row_key->protocol;
	words[0] = rte_cpu_to_be_32(seed + 0x80000000U);
	row_key->a = rte_cpu_to_be_32(rte_jhash_32b(words, FLOW_KEY_WORDS, 0));
	words[0] = rte_cpu_to_be_32(seed + 0x80000001U);
	row_key->b = rte_cpu_to_be_32(rte_jhash_32b(words, FLOW_KEY_WORDS, 0));
}

/* Return the key of a flow that each row hashes. rows_column() sets its salt. */
static inline struct row_key rows_key_of(uint32_t seed, const struct flow_key *key)
{
	struct row_key row_key = {
		.ports = rte_cpu_to_be_32(key->ports),
		.protocol = rte_cpu_to_be_32(key->protocol),
	};

	if (likely(key->protocol >> 8 == 4)) {
		row_key.a = rte_cpu_to_be_32((uint32_t)key->source_low);
		row_key.b = rte_cpu_to_be_32((uint32_t)key->destination_low);
	} else {
		rows_hash_ipv6(seed, key, &row_key);
	}
	return row_key;
}

/* Return the column of a flow in a row. `key` gets the salt of the row. */
static inline uint32_t rows_column(const struct settings *settings, struct row_key *key,
				   uint32_t row)
{
	key->salt = rte_cpu_to_be_32(settings->seed + row);
	return rte_jhash_32b(&key->salt, sizeof(*key) / sizeof(uint32_t), 0) &
	       (settings->columns - 1);
}
