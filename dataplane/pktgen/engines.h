/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that send packets, until the time is over or a signal ends it. Both return 0, or -1
 * after complain(). */
#pragma once

#include "job.h"

/* What an engine has sent. All is 0 before it begins. */
struct sent {
	struct pktgen_state state; /* its packets include those that were refused */
	__u64 skipped; /* packets that were due while the sender was held up, and not sent later */
	__u64 refused; /* packets that the interface did not take */
	long long waited_ns; /* time that the sender was ready, but had no CPU; -1: not known */
};

int send_by_xdp(const struct job *job, const struct pktgen_settings *settings, struct sent *sent);
int send_by_packet_socket(const struct job *job, const struct pktgen_settings *settings,
			  struct sent *sent);
