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
	struct ring_buffer *notifications; /* ring of the state that is open */
	ring_buffer_sample_fn notified;
	void *context; /* for `notified` */
	ino_t followed; /* the state whose notifications are read */
};

/* Begin to use a state, which may be on already. Returns 0, or -1 after complain(). */
int monitoring_open(struct monitoring *monitoring, const char *folder);
void monitoring_close(struct monitoring *monitoring);

/* Open the state for reading. Returns 0, or -1 with the refusal: monitoring is off, or the
 * kernel refuses. */
int monitoring_read(struct monitoring *monitoring, struct refusal *refusal);

/* Lock and open the state for a change. The caller then calls monitoring_changed(). Returns 0,
 * or -1 with the refusal. */
int monitoring_change(struct monitoring *monitoring, struct refusal *refusal);
void monitoring_changed(struct monitoring *monitoring);

/* Lock the state to switch monitoring on. Returns 0, or -1 with the refusal. */
int monitoring_begin(struct monitoring *monitoring, struct refusal *refusal);

/* Find out what others changed, and attach to ports that came. */
void monitoring_follow(struct monitoring *monitoring);
