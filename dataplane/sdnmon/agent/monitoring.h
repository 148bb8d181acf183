/* SPDX-License-Identifier: Apache-2.0 */
/* The monitoring of the switch, which the tool sfc-sdnmon may change beside the agent. */
#pragma once

#include <bpf/libbpf.h>

#include "../state.h"
#include "requests.h"
#include "switch_ports.h"

/* The process sets `notified`, `context` and how to attach; monitoring_open() does the rest. */
struct monitoring {
	struct state state;
	struct switch_ports ports;
	struct ring_buffer *notifications; /* of the open state; NULL: none, or it cannot be read */
	ring_buffer_sample_fn notified; /* called for each notification */
	void *context; /* for `notified` */
	ino_t followed; /* inode of that state; 0: none is open */
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

/* Find out what others changed; attach to ports that came, and detach from those that went. If the
 * state cannot be opened now, a later call does that. */
void monitoring_follow(struct monitoring *monitoring);
