/* SPDX-License-Identifier: Apache-2.0 */
/* The observer in plain IP: the kernel forwards from one interface to the other, and a thread
 * sees what arrives at either. */
#pragma once

#include "../../dataplane/common/interface.h"
#include "../../dataplane/forwarding/engine.h"

/* Start the observer, a thread that calls the inspector as worker 0. Returns 0, or -1 after
 * complain(). */
int observer_start(const struct interface interfaces[2], const struct inspector *inspector);

/* Return how many packets the thread was too slow for since the start. They were forwarded all the
 * same. */
__u64 observer_missed(void);

/* Return how many packets were seen since the start: IP or not, also those that the kernel did not
 * forward. */
__u64 observer_seen(void);

/* Have the thread look at the packets that have arrived, and wait for its end. */
void observer_stop(void);
