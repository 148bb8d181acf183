// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

void snapshot_add(struct snapshot *snapshot, fwd_path path, __u64 packets)
{
	unsigned int i = 0;

	while (i < snapshot->path_count && snapshot->paths[i].path != path)
		i++;
	if (i == FWD_MAX_PATHS) {
		snapshot->totals.paths_untracked += packets;
		return;
	}
	if (i == snapshot->path_count)
		snapshot->paths[snapshot->path_count++] = (struct path_count){ .path = path };
	snapshot->paths[i].packets += packets;
}
