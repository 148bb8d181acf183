/* SPDX-License-Identifier: Apache-2.0 */
/* Sends packets by the engine that the job names. */
#pragma once

#include "engines.h"
#include "settings.h"

/* Send until the time is over or a signal ends it. Returns 0, or -1 after complain(). */
int send_packets(const struct job *job, const struct interface *interface, const struct path *path,
		 struct sent *sent);

/* Print the member `sent` of a JSON object. */
void print_sent(const struct job *job, const struct sent *sent);
