/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "../common/interface.h"
#include "job.h"

/* Attach the program that counts to an interface, until the process ends. 0, or -1 after
 * complain(). */
int receiver_start(const struct job *job, const struct interface *interface);

/* `native` or `generic`, once it is attached. */
const char *receiver_mode(void);

/* Packets of the run that arrived, duplicates left out. */
__u64 receiver_packets(void);

/* A member of a JSON object: the counters; the distributions too if `all`. */
void receiver_print(bool all);

/* Attach the program that lets an interface take frames of XDP. An interface that has an XDP
 * program takes them already. 0, or -1 after complain(). */
int accept_start(const struct interface *interface);
