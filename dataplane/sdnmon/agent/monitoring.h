/* SPDX-License-Identifier: Apache-2.0 */
/* The monitoring of the switch, which the tool sfc-sdnmon may change beside the agent. */
#pragma once

#include <bpf/libbpf.h>

#include "../state.h"
#include "requests.h"
#include "switch_ports.h"

struct monitoring {
	struct state state;
	struct switch_ports ports;
	struct ring_buffer *notifications; /* of the state that is open */
	ring_buffer_sample_fn notified;
	void *context; /* of `notified` */
	ino_t followed; /* state whose notifications are read */
};

/* Begin to use a state, which may be on already. 0, or -1 after complain(). */
int monitoring_open(struct monitoring *monitoring, const char *folder);
void monitoring_close(struct monitoring *monitoring);

/* Open the state for reading. 0, or -1 with the refusal: it is off, or the kernel refuses. */
int monitoring_read(struct monitoring *monitoring, struct refusal *refusal);

/* Lock and open it for a change, after which monitoring_changed() is called. */
int monitoring_change(struct monitoring *monitoring, struct refusal *refusal);
void monitoring_changed(struct monitoring *monitoring);

/* Lock it to switch it on: 0, or -1 with the refusal. */
int monitoring_begin(struct monitoring *monitoring, struct refusal *refusal);

/* Find out what others changed, and attach ports that came. */
void monitoring_follow(struct monitoring *monitoring);
