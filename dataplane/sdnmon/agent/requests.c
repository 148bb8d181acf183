// SPDX-License-Identifier: Apache-2.0
/* Reads requests of SDN-Mon, and checks all that they say. */
#include <stdarg.h>

#include "../state.h"
#include "requests.h"

#define SETTINGS_BYTES 40 /* length without the fields */
#define FIELD_HEADER 2 /* number and length, before a mask */
#define KEYS_HEADER 4

#define SECRET_GIVEN 1 /* flag of the settings: they contain a secret */

int refuse_request(struct refusal *refusal, enum sdnmon_error code, const char *format, ...)
{
	va_list arguments;

	refusal->code = code;
	va_start(arguments, format);
	vsnprintf(refusal->text, sizeof(refusal->text), format, arguments);
	va_end(arguments);
	return -1;
}

/* --- headers --- */

/* Length of each request's content; for those with fields or keys, the least length. */
static const struct format {
	const char *name;
	size_t bytes;
	bool has_more;
} formats[SDNMON_MESSAGES] = {
	[SDNMON_FEATURES_REQUEST] = { "FEATURES_REQUEST", 0 },
	[SDNMON_MODE_ON] = { "MODE_ON", SETTINGS_BYTES, true },
	[SDNMON_MODE_OFF] = { "MODE_OFF", 0 },
	[SDNMON_RESET_TABLE] = { "RESET_TABLE", SETTINGS_BYTES, true },
	[SDNMON_ADD_ENTRIES] = { "ADD_ENTRIES", KEYS_HEADER, true },
	[SDNMON_REMOVE_ENTRIES] = { "REMOVE_ENTRIES", KEYS_HEADER, true },
	[SDNMON_SET_SAMPLING_RATIO] = { "SET_SAMPLING_RATIO", 8 },
	[SDNMON_SET_QUERY_TIME_INTERVAL] = { "SET_QUERY_TIME_INTERVAL", 4 },
	[SDNMON_SET_OVERFLOW_NOTIFICATION_THRESHOLD] = { "SET_OVERFLOW_NOTIFICATION_THRESHOLD", 4 },
	[SDNMON_SET_LIMIT] = { "SET_LIMIT", 4 },
	[SDNMON_PRUNE] = { "PRUNE", 0 },
	[SDNMON_STATUS_REQUEST] = { "STATUS_REQUEST", 0 },
	[SDNMON_STATISTICS_REQUEST] = { "STATISTICS_REQUEST", 4 },
};

int request_read(const __u8 *message, size_t bytes, struct request *request,
		 struct refusal *refusal)
{
	const struct format *format;

	*request = (struct request){
		.version = message[0],
		.xid = get32(message + 4),
		.type = get32(message + 12),
		.content = message + SDNMON_HEADER,
		.bytes = bytes - SDNMON_HEADER,
	};
	if (request->type >= SDNMON_MESSAGES)
		return refuse_request(refusal, SDNMON_BAD_MESSAGE,
				      "exp_type %u is no request; requests have 0 to %u",
				      request->type, SDNMON_MESSAGES - 1);
	format = &formats[request->type];
	if (request->bytes < format->bytes || (request->bytes > format->bytes && !format->has_more))
		return refuse_request(refusal, SDNMON_BAD_MESSAGE,
				      "%s: %zu bytes of content instead of %s%zu", format->name,
				      request->bytes, format->has_more ? "at least " : "",
				      format->bytes);
	return 0;
}

/* --- numbers --- */

/* Check the range of a number, which a refusal calls `what`. Returns 0, or -1 with the refusal. */
static int check(__u64 number, __u64 least, __u64 most, const char *what, struct refusal *refusal)
{
	if (number >= least && number <= most)
		return 0;
	return refuse_request(refusal, SDNMON_BAD_VALUE, "%s: from %llu to %llu, not %llu", what,
			      least, most, number);
}

int request_number(const struct request *request, __u64 least, __u64 most, const char *what,
		   __u64 *number, struct refusal *refusal)
{
	/* Only a ratio has 64 bits. */
	*number =
		request->bytes == sizeof(__u64) ? get64(request->content) : get32(request->content);
	return check(*number, least, most, what, refusal);
}

/* --- settings --- */

/* Read a field by its number, with a mask of `bytes` bytes, and choose it. Returns 0, or -1 with
 * the refusal. */
static int read_field(unsigned int number, unsigned int bytes, const __u8 *mask,
		      struct fields_chosen *chosen, struct refusal *refusal)
{
	const char *name = fields_name(number);

	if (!name)
		return refuse_request(refusal, SDNMON_BAD_VALUE,
				      "%u is the number of no monitoring match field", number);
	if (bytes != fields_bytes(number))
		return refuse_request(refusal, SDNMON_BAD_VALUE,
				      "%s: a mask of %u bytes, not of %u", name,
				      fields_bytes(number), bytes);
	if (chosen->chosen[number])
		return refuse_request(refusal, SDNMON_BAD_VALUE, "%s is there twice", name);
	if (!fields_have_mask(number, mask))
		return refuse_request(refusal, SDNMON_BAD_VALUE,
				      "%s: a mask with bits of the field, and no others", name);
	chosen->chosen[number] = true;
	memcpy(chosen->masks[number], mask, bytes);
	return 0;
}

/* Read the fields of the settings, and lay out keys for them. Returns 0, or -1 with the refusal. */
static int read_fields(const struct request *request, struct sdnmon_config *config,
		       struct refusal *refusal)
{
	struct fields_chosen chosen = { 0 };
	const __u8 *content = request->content;
	unsigned int count = get16(content + 36);
	size_t at = SETTINGS_BYTES;

	if (!count)
		return refuse_request(refusal, SDNMON_BAD_VALUE, "there are no fields");
	for (unsigned int i = 0; i < count; i++) {
		size_t left = request->bytes - at;

		if (left < FIELD_HEADER || left - FIELD_HEADER < content[at + 1])
			return refuse_request(refusal, SDNMON_BAD_MESSAGE,
					      "the message ends within field %u of %u", i + 1,
					      count);
		if (read_field(content[at], content[at + 1], content + at + FIELD_HEADER, &chosen,
			       refusal))
			return -1;
		at += FIELD_HEADER + content[at + 1];
	}
	if (at != request->bytes)
		return refuse_request(refusal, SDNMON_BAD_MESSAGE, "%zu bytes behind the fields",
				      request->bytes - at);
	fields_lay_out(&chosen, config);
	return 0;
}

/* Check the ranges of all settings but the fields. `interval_ms` is that of all slots together.
 * Returns 0, or -1 with the refusal. */
static int check_settings(const struct settings *settings, __u32 interval_ms,
			  struct refusal *refusal)
{
	const struct sdnmon_config *config = &settings->config;

	if (check(config->mode, SDNMON_HASH, SDNMON_BLOOM, "mode", refusal) ||
	    check(config->slots, 1, SDNMON_SLOTS, "counter buffer size", refusal) ||
	    check(interval_ms, LEAST_INTERVAL_MS * config->slots, MOST_INTERVAL_MS,
		  "query time interval, ms", refusal) ||
	    check(settings->ratio, 0, SDNMON_RATIO_ONE, "sampling ratio, times 2^32", refusal) ||
	    check(config->capacity, 1, SDNMON_ENTRIES, "capacity", refusal) ||
	    check(settings->limit, 1, config->capacity, "limit (0: the capacity)", refusal))
		return -1;
	return check(settings->notify, 0, SDNMON_ENTRIES, "threshold (0: never)", refusal);
}

int request_settings(const struct request *request, struct settings *settings, bool *has_secret,
		     __u64 *secret, struct refusal *refusal)
{
	/* Offsets are those of docs/reference/sdn-mon-messages.md. */
	const __u8 *content = request->content;
	__u32 interval_ms = get32(content + 4), limit = get32(content + 28);

	if (content[1] & ~SECRET_GIVEN || get16(content + 38))
		return refuse_request(refusal, SDNMON_BAD_MESSAGE, "reserved bits are set");
	*settings = (struct settings){
		.config = {
			.mode = content[0],
			.slots = get16(content + 2),
			.capacity = get32(content + 24),
		},
		.ratio = get64(content + 8),
		.notify = get32(content + 32),
		.events = -1,
		.forwarders = -1,
	};
	settings->limit = limit ? limit : settings->config.capacity;
	*has_secret = content[1] & SECRET_GIVEN;
	*secret = get64(content + 16);
	if (check_settings(settings, interval_ms, refusal))
		return -1;
	settings->interval_ns = interval_ms * 1000000ULL / settings->config.slots;
	return read_fields(request, &settings->config, refusal);
}

/* --- keys --- */

void request_key(const struct request *request, const struct sdnmon_config *config, int number,
		 struct sdnmon_key *key)
{
	size_t bytes = config->words * sizeof(__u32);

	memset(key, 0, sizeof(*key));
	memcpy(key, request->content + KEYS_HEADER + (size_t)number * bytes, bytes);
}

int request_keys(const struct request *request, const struct sdnmon_config *config,
		 struct refusal *refusal)
{
	int count = get16(request->content);
	size_t bytes = get16(request->content + 2);
	struct sdnmon_key key;

	if (bytes != config->words * sizeof(__u32))
		return refuse_request(refusal, SDNMON_BAD_VALUE,
				      "keys of this table have %zu bytes, not %zu",
				      config->words * sizeof(__u32), bytes);
	if (request->bytes - KEYS_HEADER != (size_t)count * bytes)
		return refuse_request(refusal, SDNMON_BAD_MESSAGE,
				      "%zu bytes of keys instead of %d times %zu",
				      request->bytes - KEYS_HEADER, count, bytes);
	for (int i = 0; i < count; i++) {
		request_key(request, config, i, &key);
		if (!fields_allow_key(config, &key))
			return refuse_request(refusal, SDNMON_BAD_VALUE,
					      "no packet has key %d (from 0) in this table: bits "
					      "beyond the masks, of headers without fields, or of "
					      "fields whose header is absent",
					      i);
	}
	return count;
}
