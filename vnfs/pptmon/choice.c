// SPDX-License-Identifier: Apache-2.0
/*
 * The first packet after a period is the head of a burst more often than not: it waited for nobody
 * and finds caches cold. A packet chosen at random is none. So each packet that comes once a sample is
 * due is taken with a probability that makes the choice last a quarter of the period.
 */
#include "choice.h"

#define ALL 0xffffffffU
#define SHARE 4 /* of the period's packets, one in so many may be passed over */
#define PERIODS 5 /* over which the rate of packets is averaged, */
#define AT_LEAST_NS 1000000000.0 /* or over so long */

static double packets_per_ns;
static __u64 seen_before;

__u32 choice_refresh(const __u64 *counters, __u64 period_ns, __u64 elapsed_ns)
{
	double window = (double)period_ns * PERIODS;
	double seen = (double)(counters[PPT_SEEN] - seen_before);
	double wanted, weight, candidates;

	if (period_ns == 0 || elapsed_ns == 0)
		return ALL;
	if (window < AT_LEAST_NS)
		window = AT_LEAST_NS;
	weight = (double)elapsed_ns / window;
	if (weight > 1)
		weight = 1;
	packets_per_ns += weight * (seen / (double)elapsed_ns - packets_per_ns);
	seen_before = counters[PPT_SEEN];
	/* Of those that were looked at, so many were for the filter. */
	wanted = (double)(counters[PPT_WANTED] + 1) / (double)(counters[PPT_JUDGED] + 1);
	candidates = packets_per_ns * (double)period_ns * wanted / SHARE;
	return candidates <= 1 ? ALL : (__u32)(ALL / candidates);
}
