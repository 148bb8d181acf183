// SPDX-License-Identifier: Apache-2.0
/* Opens, locks and follows the state of the switch's monitoring. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../../common/report.h"
#include "monitoring.h"

#define LOCK_WAIT_MS 1000 /* the OpenFlow channel stands still meanwhile */

/* Read the notifications of the state that is open now. If it is another one than before, its ring
 * has another descriptor even where it is the same ring, and its ports may be others than those of
 * the switch. */
static void follow_state(struct monitoring *monitoring)
{
	const struct state *state = &monitoring->state;
	ino_t opened = state->is_open ? state->opened : 0;

	if (opened == monitoring->followed)
		return;
	ring_buffer__free(monitoring->notifications);
	monitoring->notifications = NULL;
	monitoring->followed = opened;
	if (!opened)
		return;
	monitoring->ports.changed = true;
	monitoring->notifications = ring_buffer__new(state->program.events, monitoring->notified,
						     monitoring->context, NULL);
	if (!monitoring->notifications)
		complain("cannot read notifications: %s", strerror(errno));
}

/* Refuse with the last complaint. Returns -1. */
static int refuse_failed(struct refusal *refusal)
{
	return refuse_request(refusal, SDNMON_REFUSED, "%s", last_complaint());
}

/* Refuse because monitoring is off, and close what is open. Returns -1. */
static int refuse_off(struct monitoring *monitoring, struct refusal *refusal)
{
	state_close(&monitoring->state);
	follow_state(monitoring);
	return refuse_request(refusal, SDNMON_IS_OFF, "monitoring is off: MODE_ON begins it");
}

int monitoring_change(struct monitoring *monitoring, struct refusal *refusal)
{
	struct state *state = &monitoring->state;

	if (!state_is_on(state))
		return refuse_off(monitoring, refusal);
	if (state_lock(state, LOCK_WAIT_MS))
		return refuse_failed(refusal);
	if (state_is_on(state) && state_open(state) == 0)
		return 0;
	if (!state_is_on(state)) {
		/* Another command ended the monitoring, and removed the folder before this one
		 * locked it. */
		state_remove(state);
		state_unlock(state);
		return refuse_off(monitoring, refusal);
	}
	state_unlock(state);
	return refuse_failed(refusal);
}

void monitoring_changed(struct monitoring *monitoring)
{
	state_unlock(&monitoring->state);
	follow_state(monitoring);
}

int monitoring_read(struct monitoring *monitoring, struct refusal *refusal)
{
	if (state_is_current(&monitoring->state))
		return 0;
	/* Opening a state needs the lock, reading it does not. */
	if (monitoring_change(monitoring, refusal))
		return -1;
	monitoring_changed(monitoring);
	return 0;
}

int monitoring_begin(struct monitoring *monitoring, struct refusal *refusal)
{
	struct state *state = &monitoring->state;

	if (state_lock(state, LOCK_WAIT_MS))
		return refuse_failed(refusal);
	if (!state_is_on(state))
		return 0;
	state_unlock(state);
	return refuse_request(refusal, SDNMON_IS_ON,
			      "monitoring is on: RESET_TABLE changes the settings");
}

void monitoring_follow(struct monitoring *monitoring)
{
	const struct state *state = &monitoring->state;
	struct refusal refusal;

	if (!monitoring->ports.changed && state->is_open)
		switch_ports_look(&monitoring->ports);
	/* Nothing has changed: it is on as before, or off as before. */
	if (state_is_on(state) ? state_is_current(state) && !monitoring->ports.changed
			       : !state->is_open)
		return;
	if (monitoring_change(monitoring, &refusal))
		return;
	switch_ports_attach(&monitoring->ports, state);
	monitoring_changed(monitoring);
}

int monitoring_open(struct monitoring *monitoring, const char *folder)
{
	struct refusal refusal;

	if (state_init(&monitoring->state, folder))
		return -1;
	if (!state_is_on(&monitoring->state))
		return 0;
	if (monitoring_change(monitoring, &refusal)) {
		complain("%s: %s", folder, refusal.text);
		return -1;
	}
	/* Ports of the options that are not there were complained about. */
	switch_ports_attach(&monitoring->ports, &monitoring->state);
	monitoring_changed(monitoring);
	return 0;
}

void monitoring_close(struct monitoring *monitoring)
{
	state_close(&monitoring->state);
	follow_state(monitoring);
}
