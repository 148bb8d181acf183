// SPDX-License-Identifier: Apache-2.0
/* The filter, as the process that changes rules writes it. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../../dataplane/common/report.h"
#include "filter.h"
#include "filter_user.h"

__u32 filter_words(unsigned int max_rules)
{
	__u32 words = 1;

	while ((__u64)words * 64 < (__u64)max_rules * FW_FILTER_BITS_PER_RULE)
		words *= 2;
	return words;
}

int filter_open(struct filter *filter, int map)
{
	struct bpf_map_info info = { 0 };
	__u32 bytes = sizeof(info);
	void *memory;

	if (bpf_obj_get_info_by_fd(map, &info, &bytes)) {
		complain("cannot open the filter: %s", strerror(errno));
		return -1;
	}
	filter->bytes = info.max_entries * sizeof(*filter->words);
	memory = mmap(NULL, filter->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (memory == MAP_FAILED) {
		complain("cannot map the filter: %s", strerror(errno));
		return -1;
	}
	filter->words = memory;
	filter->mask = (__u32)(info.max_entries - FW_FILTER_STATE_PLACES) - 1;
	filter->state = (void *)(filter->words + filter->mask + 1);
	return 0;
}

void filter_close(struct filter *filter)
{
	munmap(filter->words, filter->bytes);
}

/* Clear the other generation and make it the current one, if its rules have expired. Clearing costs
 * as much as many rules, so it waits until as many rules were set as there are words. */
static void take_turns(struct filter *filter, __u64 now_ns)
{
	struct fw_filter_state *state = filter->state;
	const __u64 other = !state->current;

	if (state->rules <= filter->mask || state->until_ns[other] > now_ns)
		return;
	for (__u32 i = 0; i <= filter->mask; i++)
		filter->words[i].bits[other] = 0;
	state->until_ns[other] = 0;
	state->rules = 0;
	state->current = other;
}

void filter_add(struct filter *filter, __u64 hash, __u64 now_ns, __u64 until_ns)
{
	struct fw_filter_state *state = filter->state;
	struct fw_filter_word *word = &filter->words[hash >> 6 & filter->mask];

	take_turns(filter, now_ns);
	__atomic_fetch_or(&word->bits[state->current], 1ULL << (hash & 63), __ATOMIC_RELEASE);
	state->rules++;
	if (until_ns > state->until_ns[state->current])
		state->until_ns[state->current] = until_ns;
}
