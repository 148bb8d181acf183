// SPDX-License-Identifier: Apache-2.0
/* Packets as lines of ts_ns,src_ip,dst_ip,proto,src_port,dst_port,size_bytes. */
#include <arpa/inet.h>
#include <string.h>

#include "trace.h"
#include "../../common/report.h"

#define LONGEST_LINE 4096
#define MOST_FIELDS 32

enum column { TS_NS, SRC_IP, DST_IP, PROTO, SRC_PORT, DST_PORT, SIZE_BYTES, COLUMNS };

static const char *const names[] = {
	"ts_ns", "src_ip", "dst_ip", "proto", "src_port", "dst_port", "size_bytes",
};

struct field {
	const char *text;
	size_t length;
};

/* The next line, without its end, as fields; what is behind the line is skipped by the caller. */
static enum trace_status read_line(struct trace *trace, struct field *fields, int *count,
				   size_t *bytes)
{
	struct input *input = &trace->input;
	const char *text, *end;
	size_t length;

	trace->line++;
	text = (const char *)input_peek(input, LONGEST_LINE);
	if (!text)
		text = (const char *)input->buffer + input->start;
	length = input_available(input);
	if (!length)
		return TRACE_END;
	end = memchr(text, '\n', length < LONGEST_LINE ? length : LONGEST_LINE);
	if (!end && length >= LONGEST_LINE) {
		complain("%s: line %llu is longer than %d characters", input->name,
			 (unsigned long long)trace->line, LONGEST_LINE);
		return TRACE_DAMAGED;
	}
	*bytes = end ? (size_t)(end - text) + 1 : length;
	if (!end)
		end = text + length;
	if (end > text && end[-1] == '\r')
		end--;
	*count = 0;
	while (*count < MOST_FIELDS) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma ? comma : end;

		fields[(*count)++] = (struct field){ text, (size_t)(stop - text) };
		if (!comma)
			break;
		text = comma + 1;
	}
	return TRACE_PACKET;
}

static bool take_number(struct field field, uint64_t most, uint64_t *number)
{
	*number = 0;
	if (!field.length || field.length > 20)
		return false;
	for (size_t i = 0; i < field.length; i++) {
		unsigned int digit = (unsigned int)(field.text[i] - '0');

		if (digit > 9 || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, digit, number))
			return false;
	}
	return *number <= most;
}

/* An IPv4 address as most tools write it; inet_pton() for the rest would be ten times slower. */
static bool take_ipv4(struct field field, uint8_t *address)
{
	const char *at = field.text, *end = field.text + field.length;

	for (int i = 0; i < 4; i++) {
		unsigned int value = 0, digits = 0;

		for (; at < end && *at >= '0' && *at <= '9'; at++, digits++)
			value = value * 10 + (unsigned int)(*at - '0');
		if (digits < 1 || digits > 3 || value > 255)
			return false;
		address[i] = (uint8_t)value;
		if (i < 3 && (at == end || *at++ != '.'))
			return false;
	}
	return at == end;
}

/* 4, 6, or 0 for no address. */
static int take_address(struct field field, uint8_t *address)
{
	char text[INET6_ADDRSTRLEN];

	if (take_ipv4(field, address))
		return 4;
	if (field.length >= sizeof(text))
		return 0;
	memcpy(text, field.text, field.length);
	text[field.length] = 0;
	return inet_pton(AF_INET6, text, address) == 1 ? 6 : 0;
}

static enum trace_status bad_value(const struct trace *trace, enum column column,
				   struct field field, const char *allowed)
{
	complain("%s: line %llu: %s is '%.*s'; allowed: %s", trace->input.name,
		 (unsigned long long)trace->line, names[column],
		 (int)(field.length < 64 ? field.length : 64), field.text, allowed);
	return TRACE_DAMAGED;
}

static const struct {
	uint64_t most;
	const char *allowed;
	bool may_be_empty;
} numbers[COLUMNS] = {
	[TS_NS] = { UINT64_MAX, "nanoseconds since 1970, a whole number", false },
	[PROTO] = { 255, "0 to 255", false },
	[SRC_PORT] = { 65535, "0 to 65535, or nothing", true },
	[DST_PORT] = { 65535, "0 to 65535, or nothing", true },
	[SIZE_BYTES] = { UINT32_MAX, "0 to 4294967295", false },
};

static enum trace_status take_fields(struct trace *trace, const struct field *fields,
				     struct packet *packet)
{
	uint8_t *addresses = (uint8_t *)&packet->key[SFCMON_SOURCE_WORD];
	uint64_t values[COLUMNS];
	uint8_t src[16], dst[16];
	int version, other;

	for (int column = 0; column < COLUMNS; column++) {
		struct field field = fields[trace->columns[column]];

		values[column] = 0;
		if (!numbers[column].allowed || (numbers[column].may_be_empty && !field.length))
			continue;
		if (!take_number(field, numbers[column].most, &values[column]))
			return bad_value(trace, column, field, numbers[column].allowed);
	}
	version = take_address(fields[trace->columns[SRC_IP]], src);
	if (!version)
		return bad_value(trace, SRC_IP, fields[trace->columns[SRC_IP]],
				 "an IPv4 or IPv6 address");
	other = take_address(fields[trace->columns[DST_IP]], dst);
	if (other != version)
		return bad_value(trace, DST_IP, fields[trace->columns[DST_IP]],
				 version == 4 ? "an IPv4 address, as src_ip is"
					      : "an IPv6 address, as src_ip is");
	packet->ts_ns = values[TS_NS];
	packet->size = (uint32_t)values[SIZE_BYTES];
	packet->words = version == 4 ? SFCMON_IPV4_WORDS : SFCMON_IPV6_WORDS;
	packet->key[0] = key_path(trace->path);
	packet->key[1] = key_protocol((uint8_t)values[PROTO], (uint8_t)version);
	packet->key[2] = htonl((uint32_t)(values[SRC_PORT] << 16 | values[DST_PORT]));
	memcpy(addresses, src, version == 4 ? 4 : 16);
	memcpy(addresses + (version == 4 ? 4 : 16), dst, version == 4 ? 4 : 16);
	return TRACE_PACKET;
}

static enum trace_status next_csv(struct trace *trace, struct packet *packet)
{
	struct field fields[MOST_FIELDS];
	enum trace_status status;
	size_t bytes;
	int count;

	while ((status = read_line(trace, fields, &count, &bytes)) == TRACE_PACKET) {
		if (count == 1 && !fields[0].length) { /* an empty line */
			input_skip(&trace->input, bytes);
			continue;
		}
		if (count != trace->column_count) {
			complain("%s: line %llu has %d fields instead of %d", trace->input.name,
				 (unsigned long long)trace->line, count, trace->column_count);
			return TRACE_DAMAGED;
		}
		status = take_fields(trace, fields, packet);
		input_skip(&trace->input, bytes);
		break;
	}
	return status;
}

bool csv_open(struct trace *trace)
{
	struct field fields[MOST_FIELDS];
	size_t bytes;

	if (read_line(trace, fields, &trace->column_count, &bytes) != TRACE_PACKET)
		return false;
	for (int column = 0; column < COLUMNS; column++) {
		trace->columns[column] = -1;
		for (int i = 0; i < trace->column_count; i++)
			if (fields[i].length == strlen(names[column]) &&
			    memcmp(fields[i].text, names[column], fields[i].length) == 0)
				trace->columns[column] = i;
		if (trace->columns[column] < 0) {
			complain("%s: line 1 names no column %s; a CSV file has the columns "
				 "ts_ns,src_ip,dst_ip,proto,src_port,dst_port,size_bytes",
				 trace->input.name, names[column]);
			return false;
		}
	}
	input_skip(&trace->input, bytes);
	trace->next = next_csv;
	return true;
}
