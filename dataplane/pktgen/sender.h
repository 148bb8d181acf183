/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that send. */
#pragma once

#include "job.h"
#include "settings.h"

struct sent {
	struct pktgen_state state;
	__u64 skipped; /* packets that were due while the sender was held up, and not sent later */
	__u64 refused; /* packets that the interface did not take */
	long long waited_ns; /* time that the sender could run and had no CPU; -1: not known */
};

/* Send until the time is over or a signal ends it. 0, or -1 after complain(). */
int send_packets(const struct job *job, const struct interface *interface, const struct path *path,
		 struct sent *sent);

void print_sent(const struct job *job, const struct sent *sent);

/* The engines. */
int send_by_xdp(const struct job *job, const struct pktgen_settings *settings, struct sent *sent);
int send_by_packet_socket(const struct job *job, const struct pktgen_settings *settings,
			  struct sent *sent);

/* For engines: has a signal ended it? */
bool sender_stopped(void);
/* Sleep until the next packet is due, when that is so far away that sleeping pays. */
void sender_rest(const struct pktgen_settings *settings, const struct pktgen_state *state);
bool sender_rests(const struct pktgen_settings *settings);
