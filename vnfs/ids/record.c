// SPDX-License-Identifier: Apache-2.0
/* Writes records as JSON. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "../../dataplane/common/report.h"
#include "record.h"

/* Write a name as a string of JSON. Returns false if it is too long. */
static bool put_name(FILE *out, const char *name)
{
	long before = ftell(out);

	json_string(out, name);
	return ftell(out) - before < RECORD_NAME_BYTES;
}

bool record_head(struct record_head *head, const char *source, const char *run)
{
	FILE *out = fmemopen(head->text, sizeof(head->text), "w");
	bool fits;

	if (!out)
		return false;
	fputs("{\"version\":1,\"source\":", out);
	fits = put_name(out, source);
	fputs(",\"run\":", out);
	fits = fits && put_name(out, run);
	fputs(",\"sequence\":", out);
	head->bytes = (size_t)ftell(out);
	fclose(out);
	return fits;
}

/* Each of these functions writes at `next`, and returns the place behind what it has written. */

/* Write a number. printf() would take longer than the whole extraction. */
static char *put_number(char *next, uint64_t number)
{
	char digits[20];
	int count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (count)
		*next++ = digits[--count];
	return next;
}

static char *put_text(char *next, const char *text)
{
	size_t bytes = strlen(text);

	memcpy(next, text, bytes);
	return next + bytes;
}

static char *put_address(char *next, const struct record *record, int end)
{
	inet_ntop(record->key.version == 6 ? AF_INET6 : AF_INET, record->key.addresses[end], next,
		  INET6_ADDRSTRLEN);
	return next + strlen(next);
}

/* Write address and port of an end, with a comma behind. */
static char *put_end(char *next, const struct record *record, int end)
{
	*next++ = '"';
	next = put_address(next, record, end);
	next = put_text(next, "\",");
	next = put_number(next, ntohs(record->key.ports[end]));
	*next++ = ',';
	return next;
}

size_t record_text(const struct record_head *head, const struct record *record, uint64_t sequence,
		   char text[RECORD_TEXT_BYTES])
{
	uint64_t features[FEATURES_COUNTED];
	char *next = text;

	accumulator_features(&record->counted, features);
	memcpy(next, head->text, head->bytes);
	next = put_number(next + head->bytes, sequence);
	next = put_text(next, record->early ? ",\"kind\":\"early\",\"first_ns\":"
					    : ",\"kind\":\"window\",\"first_ns\":");
	next = put_number(next, record->counted.first_ns);
	next = put_text(next, ",\"last_ns\":");
	next = put_number(next, record->counted.last_ns);
	next = put_text(next, ",\"features\":[");
	next = put_end(next, record, record->first_source);
	next = put_end(next, record, !record->first_source);
	next = put_number(next, record->key.protocol);
	for (int i = 0; i < FEATURES_COUNTED; i++) {
		*next++ = ',';
		next = put_number(next, features[i]);
	}
	next = put_text(next, ",null]}"); /* `class`: nobody has labelled the flow */
	return (size_t)(next - text);
}

size_t record_key(const struct record *record, char text[RECORD_KEY_BYTES])
{
	char *next = put_number(text, record->key.protocol);

	for (int end = 0; end < 2; end++) {
		*next++ = '/';
		next = put_address(next, record, end);
		*next++ = '/';
		next = put_number(next, ntohs(record->key.ports[end]));
	}
	return (size_t)(next - text);
}
