/* SPDX-License-Identifier: Apache-2.0 */
/* The receiver of sfc-pktgen. */
#pragma once

#include "../common/interface.h"
#include "job.h"

/* Attach the program that counts to an interface, until the process ends. Returns 0, or -1 after
 * complain(). */
int receiver_start(const struct job *job, const struct interface *interface);

/* Return how receiver_start() or accept_start() has attached its program: `native` or `generic`;
 * `other` if it found another one, which makes the interface take frames. */
const char *receiver_mode(void);

/* Return how many packets of the run arrived, without duplicates. */
__u64 receiver_packets(void);

/* Print the member `received` of a JSON object: the counters, and with `all` the distributions
 * too. */
void receiver_print(bool all);

/* Attach the program that lets an interface take frames from XDP, unless it has an XDP program,
 * with which it takes them already. Returns 0, or -1 after complain(). */
int accept_start(const struct interface *interface);
