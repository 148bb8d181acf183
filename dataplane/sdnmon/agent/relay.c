// SPDX-License-Identifier: Apache-2.0
/* Connects switches with their controllers: makes and ends channels. */
#include <errno.h>
#include <unistd.h>

#include "../../common/report.h"
#include "relay.h"

#define TO_SWITCH "to:"

int relay_add(struct relays *relays, char *text)
{
	struct relay *relay = &relays->list[relays->count];
	bool connects = strncmp(text, TO_SWITCH, strlen(TO_SWITCH)) == 0;
	char *controller = strstr(text, "=tcp:"); /* paths may have other `=` */

	if (!controller)
		controller = strstr(text, "=unix:");
	if (!controller || relays->count == MOST_RELAYS)
		return -1;
	*controller++ = '\0';
	*relay = (struct relay){ .listener = -1, .connects = connects, .all = relays };
	text += connects ? strlen(TO_SWITCH) : 0;
	if (address_parse(text, &relay->listen) || address_parse(controller, &relay->controller))
		return -1;
	relays->count++;
	return 0;
}

/* --- channels --- */

/* End the oldest channel whose switch has said nothing yet: the last such one of the list. Returns
 * whether there was one. */
static bool make_room(struct relays *relays)
{
	struct channel *oldest = NULL;

	for (struct channel *channel = relays->channels; channel; channel = channel->next)
		if (channel_is_idle(channel))
			oldest = channel;
	if (oldest)
		oldest->closed = true; /* it is freed when all events were served */
	return oldest;
}

/* Make a channel for the connection of a switch, which it owns from now on, and connect to the
 * controller. */
static void begin(struct relay *relay, int to_switch)
{
	struct relays *all = relay->all;
	struct channel *channel;
	int to_controller;

	if (all->channel_count >= MOST_CHANNELS && !make_room(all)) {
		complain("%s: more than %d channels", relay->listen.text, MOST_CHANNELS);
		close(to_switch);
		return;
	}
	to_controller = address_connect(&relay->controller);
	if (to_controller < 0) {
		complain("cannot connect to the controller %s: %s", relay->controller.text,
			 strerror(-to_controller));
		close(to_switch);
		return;
	}
	channel = channel_open(all->loop, all->monitoring, to_switch, to_controller,
			       relay->controller.text);
	if (!channel)
		return;
	if (relay->connects)
		relay->channel = channel;
	channel->next = all->channels;
	all->channels = channel;
	all->channel_count++;
}

/* A switch has connected (struct watch). */
static void ready(struct watch *watch, __u32 events)
{
	struct relay *relay = watch->owner;
	int to_switch = address_accept(&relay->listen, relay->listener);

	(void)events;
	if (to_switch >= 0)
		begin(relay, to_switch);
	else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
		complain("cannot accept a connection at %s: %s", relay->listen.text,
			 strerror(errno));
}

void relays_clean(struct relays *relays)
{
	struct channel **place = &relays->channels;

	while (*place) {
		struct channel *channel = *place;

		if (!channel->closed) {
			place = &channel->next;
			continue;
		}
		*place = channel->next;
		for (unsigned int i = 0; i < relays->count; i++)
			if (relays->list[i].channel == channel)
				relays->list[i].channel = NULL;
		channel_free(channel);
		relays->channel_count--;
	}
}

void relays_serve(struct relays *relays)
{
	for (struct channel *channel = relays->channels; channel; channel = channel->next)
		if (!channel->closed)
			channel_serve(channel);
}

/* --- notifications --- */

bool relays_want_notifications(const struct relays *relays)
{
	for (struct channel *channel = relays->channels; channel; channel = channel->next)
		if (channel->session.wants_notifications && !channel->closed &&
		    !channel->peers[CONTROLLER].mute && !channel->peers[CONTROLLER].ended)
			return true;
	return false;
}

void relays_notify(struct relays *relays, const struct sdnmon_event *event)
{
	for (struct channel *channel = relays->channels; channel; channel = channel->next) {
		if (!channel->session.wants_notifications || channel->closed)
			continue;
		if (session_notify(&channel->session, event) == 0)
			continue;
		complain("the controller %s reads no notifications: its connection is closed",
			 channel->name);
		channel->closed = true;
	}
}

/* --- all of them --- */

void relays_connect(struct relays *relays)
{
	for (unsigned int i = 0; i < relays->count; i++) {
		struct relay *relay = &relays->list[i];
		int to_switch;

		if (!relay->connects || relay->channel)
			continue;
		to_switch = address_connect(&relay->listen);
		if (to_switch >= 0)
			begin(relay, to_switch);
		else if (!relay->has_complained)
			complain("cannot connect to the switch %s: %s; trying again",
				 relay->listen.text, strerror(-to_switch));
		relay->has_complained = to_switch < 0;
	}
}

int relays_open(struct relays *relays)
{
	for (unsigned int i = 0; i < relays->count; i++) {
		struct relay *relay = &relays->list[i];

		if (relay->connects)
			continue;
		relay->listener = address_listen(&relay->listen);
		if (relay->listener < 0)
			return -1;
		relay->watch = (struct watch){ ready, relay };
		loop_add(relays->loop, relay->listener, &relay->watch, EPOLLIN);
	}
	relays_connect(relays);
	return 0;
}

void relays_close(struct relays *relays)
{
	for (unsigned int i = 0; i < relays->count; i++) {
		if (relays->list[i].listener < 0)
			continue;
		close(relays->list[i].listener);
		address_remove(&relays->list[i].listen);
	}
	for (struct channel *channel = relays->channels; channel; channel = channel->next)
		channel->closed = true;
	relays_clean(relays);
}
