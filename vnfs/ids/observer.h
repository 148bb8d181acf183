/* SPDX-License-Identifier: Apache-2.0 */
/* In plain IP: the kernel forwards from one interface to the other, and a thread sees what arrives
 * at either. */
#pragma once

#include "../../dataplane/common/interface.h"
#include "../../dataplane/forwarding/engine.h"

/* Start. 0, or -1 after complain(). */
int observer_start(const struct interface interfaces[2], const struct inspector *inspector);

/* Packets that the thread was too slow for, cumulated: they were forwarded all the same. */
__u64 observer_missed(void);

/* What was seen, cumulated: IP packets or not, also those that the kernel did not forward. */
__u64 observer_seen(void);

void observer_stop(void);
