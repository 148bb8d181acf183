/* SPDX-License-Identifier: Apache-2.0 */
/* A relay: where the switch connects to, or listens, and which controller it comes to from
 * there. */
#pragma once

#include "address.h"
#include "channel.h"

#define MOST_RELAYS 16
#define MOST_CHANNELS 256

struct relay {
	struct address listen, controller;
	int listener; /* -1: none */
	bool connects; /* to the switch at `listen`, instead of listening there */
	bool has_complained;
	struct channel *channel; /* if it connects: the channel of its switch, or NULL */
	struct watch watch;
	struct relays *all;
};

struct relays {
	struct loop *loop;
	struct monitoring *monitoring;
	struct relay list[MOST_RELAYS];
	unsigned int count;
	struct channel *channels;
	unsigned int channel_count;
};

/* Read LISTEN=CONTROLLER or to:SWITCH=CONTROLLER, which is changed and stays the caller's. 0, or -1
 * if it is none. */
int relay_add(struct relays *relays, char *text);

/* Listen for switches. Returns 0, or -1 after complain(). */
int relays_open(struct relays *relays);

/* Connect to the switches that listen themselves and have no channel. */
void relays_connect(struct relays *relays);
void relays_close(struct relays *relays);

/* Free channels that were closed. */
void relays_clean(struct relays *relays);

/* Serve all channels, because time has passed or there is a notification. */
void relays_serve(struct relays *relays);

/* Has a controller asked for notifications? */
bool relays_want_notifications(const struct relays *relays);

/* Send a notification to each controller that has asked for them. */
void relays_notify(struct relays *relays, const struct sdnmon_event *event);
