/* SPDX-License-Identifier: Apache-2.0 */
/* A relay brings switches to a controller. Switches connect to an address at which the relay
 * listens, or the relay connects to a switch that listens there itself. */
#pragma once

#include "address.h"
#include "channel.h"

#define MOST_RELAYS 16
#define MOST_CHANNELS 256

struct relay {
	struct address listen, controller; /* `listen` is the switch's own if the relay connects */
	int listener; /* -1: none */
	bool connects; /* to the switch at `listen`, instead of listening there */
	bool has_complained; /* the last attempt to connect to the switch failed */
	struct channel *channel; /* if it connects: the channel of its switch, or NULL */
	struct watch watch;
	struct relays *all;
};

/* All relays of the process, and the channels that they have made. */
struct relays {
	struct loop *loop;
	struct monitoring *monitoring;
	struct relay list[MOST_RELAYS];
	unsigned int count;
	struct channel *channels; /* the newest first */
	unsigned int channel_count;
};

/* Add a relay as LISTEN=CONTROLLER or to:SWITCH=CONTROLLER. The text is changed, stays the
 * caller's, and must remain. Returns 0, or -1 if it is none or there are too many. */
int relay_add(struct relays *relays, char *text);

/* Listen for switches. Returns 0, or -1 after complain(). */
int relays_open(struct relays *relays);

/* Connect to the switches that listen themselves and have no channel. */
void relays_connect(struct relays *relays);
/* Stop listening, and close all channels. */
void relays_close(struct relays *relays);

/* Free channels that were closed. */
void relays_clean(struct relays *relays);

/* Serve all channels, because time has passed or there is a notification. */
void relays_serve(struct relays *relays);

/* Has a controller asked for notifications? */
bool relays_want_notifications(const struct relays *relays);

/* Send a notification to each controller that has asked for them. */
void relays_notify(struct relays *relays, const struct sdnmon_event *event);
