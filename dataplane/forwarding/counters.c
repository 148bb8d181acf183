// SPDX-License-Identifier: Apache-2.0
/* Prints what the engines have counted. */
#include "counters.h"
#include "drops.h"

void print_verdicts(FILE *out, const __u64 verdicts[FWD_VERDICTS])
{
	__u64 dropped = 0;

	for (int i = FWD_DROP_FIRST; i < FWD_VERDICTS; i++)
		dropped += verdicts[i];
	/* Frames that were left to the kernel do not count as received. */
	fprintf(out, "\"received\": %llu, \"forwarded\": %llu, \"dropped\": %llu, ",
		verdicts[FWD_FORWARDED] + dropped, verdicts[FWD_FORWARDED], dropped);
	fprintf(out, "\"passed\": %llu, \"drops\": {", verdicts[FWD_PASSED]);
	for (int i = FWD_DROP_FIRST; i < FWD_VERDICTS; i++)
		fprintf(out, "%s\"%s\": %llu", i == FWD_DROP_FIRST ? "" : ", ", fwd_drop_names[i],
			verdicts[i]);
	fprintf(out, "}, ");
}

/* Print the member `paths` of a JSON object. */
static void print_paths(FILE *out, const struct snapshot *snapshot)
{
	fprintf(out, "\"paths\": [");
	for (unsigned int i = 0; i < snapshot->path_count; i++) {
		const struct path_count *path = &snapshot->paths[i];

		fprintf(out, "%s{\"spi\": %u, \"si\": %u, \"packets\": %llu}", i ? ", " : "",
			path->path >> 8, path->path & 0xff, path->packets);
	}
	fprintf(out, "]");
}

void print_snapshot(FILE *out, const struct snapshot *snapshot)
{
	print_verdicts(out, snapshot->totals.verdicts);
	print_paths(out, snapshot);
	fprintf(out, ", \"workers\": [");
	for (unsigned int i = 0; i < snapshot->worker_count; i++)
		fprintf(out, "%s%llu", i ? ", " : "", snapshot->workers[i]);
	fprintf(out, "], \"paths_untracked\": %llu", snapshot->totals.paths_untracked);
}
