// SPDX-License-Identifier: Apache-2.0
/* Answers the requests of a controller on a connection. */
#include "../../common/clock.h"
#include "../../common/percpu.h"
#include "../../common/report.h"
#include "../table.h"
#include "session.h"

#define WITH_SLOTS 1 /* flag of STATISTICS_REQUEST */
#define STATUS_BYTES 48 /* length without totals, fields and ports */
#define STATUS_PORT 24
#define MOST_PORTS 2048 /* most ports in a status: a message has 64 KiB */

/* A request, and all that is needed to answer it. An answer_...() function does what it asks for,
 * and appends a reply. It returns 0, or -1 with the refusal. */
struct asked {
	struct session *session;
	struct monitoring *monitoring;
	struct program *program; /* only if monitoring is on */
	struct request request;
	struct refusal refusal;
};

/* Begin a reply with `content` bytes of content. Returns the place to which the caller writes
 * it. */
static __u8 *reply(struct asked *asked, size_t content)
{
	const struct request *request = &asked->request;

	return output_begin(asked->session->output, request->version, request->xid,
			    request->type | SDNMON_REPLY, content);
}

static int reply_without_content(struct asked *asked)
{
	reply(asked, 0);
	return 0;
}

/* Refuse because the kernel refused; the last complaint says why. Returns -1. */
static int fail(struct asked *asked)
{
	return refuse_request(&asked->refusal, SDNMON_REFUSED, "%s", last_complaint());
}

/* --- features --- */

static int answer_features(struct asked *asked)
{
	__u32 fields = 0;
	__u8 *to = reply(asked, 16);

	for (unsigned int i = 0; i < SDNMON_FIELDS; i++)
		fields |= fields_name(i) ? 1U << i : 0;
	to[0] = SDNMON_FORMATS;
	to[1] = state_is_on(&asked->monitoring->state);
	to = put16(to + 2, SDNMON_SLOTS);
	to = put32(to, SDNMON_ENTRIES);
	to = put32(to, fields);
	put32(to, 0);
	asked->session->wants_notifications = true; /* from this request on */
	return 0;
}

/* --- on, reset, off --- */

/* Set the keys of the hash. If no secret was given, the keys of the table `before` stay; without
 * such a table (NULL) a secret is drawn. Returns 0, or -1 after complain(). */
static int set_secret(struct sdnmon_config *config, bool has_secret, __u64 secret,
		      const struct sdnmon_config *before)
{
	if (!has_secret && before) {
		memcpy(config->hash_keys, before->hash_keys, sizeof(config->hash_keys));
		return 0;
	}
	if (!has_secret && state_draw_secret(&secret))
		return -1;
	state_set_secret(config, secret);
	return 0;
}

static int answer_on(struct asked *asked)
{
	struct monitoring *monitoring = asked->monitoring;
	struct settings settings;
	bool has_secret;
	__u64 secret;

	if (request_settings(&asked->request, &settings, &has_secret, &secret, &asked->refusal) ||
	    monitoring_begin(monitoring, &asked->refusal))
		return -1;
	switch_ports_retry(&monitoring->ports); /* so that fail() knows the reason */
	if (set_secret(&settings.config, has_secret, secret, NULL) ||
	    state_begin(&monitoring->state, &settings) ||
	    switch_ports_attach(&monitoring->ports, &monitoring->state)) {
		state_remove(&monitoring->state);
		monitoring_changed(monitoring);
		return fail(asked);
	}
	monitoring_changed(monitoring);
	return reply_without_content(asked);
}

static int answer_reset(struct asked *asked)
{
	struct monitoring *monitoring = asked->monitoring;
	struct settings settings;
	bool has_secret;
	__u64 secret;

	if (request_settings(&asked->request, &settings, &has_secret, &secret, &asked->refusal))
		return -1;
	if (set_secret(&settings.config, has_secret, secret, asked->program->config) ||
	    state_reset(&monitoring->state, &settings))
		return fail(asked);
	/* This forgets ports that are gone. Ports of the options that cannot be attached were
	 * complained about; the answer does not say so, because the table is new. */
	switch_ports_attach(&monitoring->ports, &monitoring->state);
	return reply_without_content(asked);
}

static int answer_off(struct asked *asked)
{
	state_remove(&asked->monitoring->state);
	return reply_without_content(asked);
}

/* --- flows --- */

/* Change entries by `change`. All keys are checked before the first one is changed. */
static int change_entries(struct asked *asked,
			  int (*change)(const struct program *, const struct sdnmon_key *,
					enum sdnmon_answer *))
{
	const struct sdnmon_config *config = asked->program->config;
	int count = request_keys(&asked->request, config, &asked->refusal);
	__u32 done = 0, unchanged = 0, no_room = 0;
	enum sdnmon_answer answer;
	struct sdnmon_key key;

	if (count < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		request_key(&asked->request, config, i, &key);
		if (change(asked->program, &key, &answer))
			return refuse_request(&asked->refusal, SDNMON_REFUSED,
					      "key %d (from 0), and none behind it: %s", i,
					      last_complaint());
		done += answer == SDNMON_DONE;
		unchanged += answer == SDNMON_THERE_ALREADY || answer == SDNMON_NOT_THERE;
		no_room += answer == SDNMON_NO_ROOM;
	}
	put32(put32(put32(reply(asked, 12), done), unchanged), no_room);
	return 0;
}

static int answer_add(struct asked *asked)
{
	return change_entries(asked, table_add);
}

static int answer_remove(struct asked *asked)
{
	return change_entries(asked, table_remove);
}

static int answer_prune(struct asked *asked)
{
	unsigned long removed;

	if (table_prune(asked->program, &removed))
		return fail(asked);
	put32(reply(asked, 4), (__u32)removed);
	return 0;
}

/* --- settings --- */

/* Read the number that the request sets (request_number()). */
static int read_number(struct asked *asked, __u64 least, __u64 most, const char *what, __u64 *value)
{
	return request_number(&asked->request, least, most, what, value, &asked->refusal);
}

static int answer_ratio(struct asked *asked)
{
	__u64 ratio;

	if (read_number(asked, 0, SDNMON_RATIO_ONE, "sampling ratio, times 2^32", &ratio))
		return -1;
	__atomic_store_n(&asked->program->live->ratio, ratio, __ATOMIC_RELAXED);
	return reply_without_content(asked);
}

static int answer_interval(struct asked *asked)
{
	__u32 slots = asked->program->config->slots;
	__u64 interval_ms;

	if (read_number(asked, (__u64)LEAST_INTERVAL_MS * slots, MOST_INTERVAL_MS,
			"query time interval, ms", &interval_ms))
		return -1;
	program_set_interval(asked->program, interval_ms * 1000000ULL / slots);
	return reply_without_content(asked);
}

static int answer_threshold(struct asked *asked)
{
	__u64 threshold;

	if (read_number(asked, 0, SDNMON_ENTRIES, "threshold (0: never)", &threshold))
		return -1;
	if (table_set_notify(asked->program, threshold))
		return fail(asked);
	return reply_without_content(asked);
}

static int answer_limit(struct asked *asked)
{
	__u64 limit;

	if (read_number(asked, 1, asked->program->config->capacity, "limit", &limit))
		return -1;
	__atomic_store_n(&asked->program->live->limit, limit, __ATOMIC_RELAXED);
	return reply_without_content(asked);
}

/* --- status --- */

/* Write the start of a status, up to the notifications. Returns the place behind it. */
static __u8 *put_settings(const struct program *program, __u8 *to)
{
	const struct sdnmon_config *config = program->config;
	const struct sdnmon_live *live = program->live;
	__u64 interval_ns = live->clocks[live->clock & 1].interval_ns;

	*to++ = 1;
	*to++ = (__u8)config->mode;
	to = put16(to, (__u16)config->slots);
	/* It is rounded, because the interval of a slot was. */
	to = put32(to, (__u32)((interval_ns * config->slots + 500000) / 1000000));
	to = put64(to, live->ratio);
	to = put64(to, program_epoch(program));
	to = put32(to, config->capacity);
	to = put32(to, (__u32)live->limit);
	to = put32(to, (__u32)live->notify);
	to = put32(to, (__u32)live->entries);
	return put32(to, (__u32)live->notifications);
}

/* Write the fields of a table with their masks. Returns the place behind them. */
static __u8 *put_fields(const struct sdnmon_config *config, __u8 *to)
{
	for (unsigned int i = 0; i < SDNMON_FIELDS; i++) {
		if (!fields_name(i) || config->offset[i] == SDNMON_NOT_CHOSEN)
			continue;
		*to++ = (__u8)i;
		*to++ = (__u8)fields_bytes(i);
		memcpy(to, (const __u8 *)config->mask + config->offset[i], fields_bytes(i));
		to += fields_bytes(i);
	}
	return to;
}

/* Write a port: number and name of an interface. The name is empty if it is gone. Returns the place
 * behind it. */
static __u8 *put_port(int ifindex, __u8 *to)
{
	char name[IF_NAMESIZE] = "";

	if (!if_indextoname((unsigned int)ifindex, name))
		*name = '\0';
	to = put32(to, (__u32)ifindex);
	to = put32(to, 0);
	memset(to, 0, sizeof(name));
	memcpy(to, name, strlen(name));
	return to + sizeof(name);
}

/* Return the number of fields, and let `bytes` have what they take in a status. */
static unsigned int field_count(const struct sdnmon_config *config, size_t *bytes)
{
	unsigned int count = 0;

	*bytes = 0;
	for (unsigned int i = 0; i < SDNMON_FIELDS; i++) {
		if (!fields_name(i) || config->offset[i] == SDNMON_NOT_CHOSEN)
			continue;
		count++;
		*bytes += 2 + fields_bytes(i);
	}
	return count;
}

static int answer_status(struct asked *asked)
{
	static int ports[MOST_PORTS];
	const struct program *program = asked->program;
	struct sdnmon_totals totals;
	unsigned int port_count, fields;
	size_t field_bytes;
	__u8 *to;

	if (percpu_sum(program->totals, 0, &totals, sizeof(totals))) {
		complain("cannot read the totals");
		return fail(asked);
	}
	port_count = ports_list(asked->monitoring->state.ports, ports, MOST_PORTS);
	fields = field_count(program->config, &field_bytes);
	to = reply(asked,
		   STATUS_BYTES + sizeof(totals) + field_bytes + (size_t)port_count * STATUS_PORT);
	to = put_settings(program, to);
	to = put16(put16(to, (__u16)port_count), (__u16)fields);
	for (int i = 0; i < SDNMON_TOTALS; i++)
		to = put64(to, totals.packets[i]);
	to = put_fields(program->config, to);
	for (unsigned int i = 0; i < port_count; i++)
		to = put_port(ports[i], to);
	return 0;
}

/* Answer that monitoring is off, which is no error here. */
static int answer_status_off(struct asked *asked)
{
	put32(reply(asked, 4), 0);
	return 0;
}

/* --- statistics --- */

/* Begin a statistics reply. The channel continues it piece by piece. */
static int answer_statistics(struct asked *asked)
{
	struct statistics *statistics = &asked->session->statistics;
	__u32 flags = get32(asked->request.content) >> 24;

	if (get32(asked->request.content) & ~((__u32)WITH_SLOTS << 24))
		return refuse_request(&asked->refusal, SDNMON_BAD_MESSAGE, "reserved bits are set");
	if (statistics->active)
		return refuse_request(&asked->refusal, SDNMON_BUSY,
				      "a statistics reply is being sent on this connection");
	if (statistics_begin(statistics, asked->program, flags & WITH_SLOTS))
		return fail(asked);
	statistics->version = asked->request.version;
	statistics->xid = asked->request.xid;
	return 0;
}

/* --- requests --- */

/* What a request needs of the state. */
enum use {
	WITHOUT, /* nothing, or the function opens it itself */
	READS,
	CHANGES,
};

static const struct {
	int (*answer)(struct asked *asked); /* 0, or -1 with the refusal */
	enum use use;
} answers[SDNMON_MESSAGES] = {
	[SDNMON_FEATURES_REQUEST] = { answer_features, WITHOUT },
	[SDNMON_MODE_ON] = { answer_on, WITHOUT },
	[SDNMON_MODE_OFF] = { answer_off, CHANGES },
	[SDNMON_RESET_TABLE] = { answer_reset, CHANGES },
	[SDNMON_ADD_ENTRIES] = { answer_add, CHANGES },
	[SDNMON_REMOVE_ENTRIES] = { answer_remove, CHANGES },
	[SDNMON_SET_SAMPLING_RATIO] = { answer_ratio, CHANGES },
	[SDNMON_SET_QUERY_TIME_INTERVAL] = { answer_interval, CHANGES },
	[SDNMON_SET_OVERFLOW_NOTIFICATION_THRESHOLD] = { answer_threshold, CHANGES },
	[SDNMON_SET_LIMIT] = { answer_limit, CHANGES },
	[SDNMON_PRUNE] = { answer_prune, CHANGES },
	[SDNMON_STATUS_REQUEST] = { answer_status, READS },
	[SDNMON_STATISTICS_REQUEST] = { answer_statistics, READS },
};

/* Do what a request asks for, with the state opened as it needs. Returns 0, or -1 with the
 * refusal. */
static int answer(struct asked *asked)
{
	const __u32 type = asked->request.type;
	int error;

	asked->program = &asked->monitoring->state.program;
	switch (answers[type].use) {
	case READS:
		error = monitoring_read(asked->monitoring, &asked->refusal);
		if (error && type == SDNMON_STATUS_REQUEST && asked->refusal.code == SDNMON_IS_OFF)
			return answer_status_off(asked);
		return error ? error : answers[type].answer(asked);
	case CHANGES:
		if (monitoring_change(asked->monitoring, &asked->refusal))
			return -1;
		error = answers[type].answer(asked);
		monitoring_changed(asked->monitoring);
		return error;
	default:
		return answers[type].answer(asked);
	}
}

void session_answer(struct session *session, struct monitoring *monitoring, const __u8 *message,
		    size_t bytes)
{
	struct asked asked = { .session = session, .monitoring = monitoring };

	if (request_read(message, bytes, &asked.request, &asked.refusal) || answer(&asked))
		output_error(session->output, asked.request.version, asked.request.xid,
			     asked.refusal.code, asked.refusal.text);
}

/* --- notifications --- */

int session_notify(struct session *session, const struct sdnmon_event *event)
{
	__u8 *to;

	if (OUTPUT_BYTES - session->output->end < SDNMON_HEADER + 16)
		return -1;
	to = output_begin(session->output, session->version, 0, SDNMON_OVERFLOW_NOTIFICATION, 16);
	/* The time of CLOCK_MONOTONIC becomes Unix time. */
	to = put64(to, event->time_ns + clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));
	to = put32(to, (__u32)event->entries);
	put32(to, (__u32)event->notify);
	return 0;
}
