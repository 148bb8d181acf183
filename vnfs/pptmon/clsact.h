/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SFCPERF_PPTMON_CLSACT_H
#define SFCPERF_PPTMON_CLSACT_H

#include "hooks.h"

#define DRAIN_MS 100 /* packets leave the VNF meanwhile */

/* What the guard must know, in memory that it shares with pptmon. */
struct clsact_state {
	int slot; /* owners.h */
	int slot_fd;
	struct place places[PROGRAMS];
	/* By place: clsact goes when nothing hangs on it any more. Set before it is made, so that
	 * it is known whenever pptmon dies. */
	volatile bool qdisc_is_ours[PROGRAMS];
};

/* Remove a program of this slot, and those of slots in which nobody lives. Were there any? */
bool clsact_remove(const struct clsact_state *state, enum program program);

/* Remove the clsact qdiscs that are ours and that nothing hangs on. */
void clsact_remove_qdiscs(const struct clsact_state *state);

#endif
