// SPDX-License-Identifier: Apache-2.0
/* Divides frames among threads by the hash of their flows. */
#include <rte_thash.h>

#include "distributor.h"
#include "parse.h"

/* Key of Microsoft's specification of RSS, which network cards use by default. */
static const uint8_t hash_key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

unsigned int distributor_thread(struct rte_mbuf *frame, unsigned int threads)
{
	uint32_t words[RTE_THASH_V6_L4_LEN], count = 0;
	struct parsed parsed;

	parse_frame(rte_pktmbuf_mtod(frame, uint8_t *), rte_pktmbuf_data_len(frame), false, 0,
		    &parsed);
	if (!parsed.monitored)
		return 0;
	if (parsed.key.protocol >> 8 == 4) {
		words[count++] = (uint32_t)parsed.key.source_low;
		words[count++] = (uint32_t)parsed.key.destination_low;
	} else {
		words[count++] = (uint32_t)(parsed.key.source_high >> 32);
		words[count++] = (uint32_t)parsed.key.source_high;
		words[count++] = (uint32_t)(parsed.key.source_low >> 32);
		words[count++] = (uint32_t)parsed.key.source_low;
		words[count++] = (uint32_t)(parsed.key.destination_high >> 32);
		words[count++] = (uint32_t)parsed.key.destination_high;
		words[count++] = (uint32_t)(parsed.key.destination_low >> 32);
		words[count++] = (uint32_t)parsed.key.destination_low;
	}
	words[count++] = parsed.key.ports;
	return rte_softrss(words, count, hash_key) % threads;
}
