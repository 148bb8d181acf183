// SPDX-License-Identifier: Apache-2.0
/* Reads packets from lines of ts_ns,src_ip,dst_ip,proto,src_port,dst_port,size_bytes (RFC 4180). */
#include <arpa/inet.h>
#include <string.h>

#include "../../../dataplane/common/report.h"
#include "trace.h"

#define LONGEST_LINE 16384
#define MOST_FIELDS (LONGEST_LINE + 1)
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* of UTF-8, before the first line */

enum column { TS_NS, SRC_IP, DST_IP, PROTO, SRC_PORT, DST_PORT, SIZE_BYTES, COLUMNS };

static const char *const names[] = {
	"ts_ns", "src_ip", "dst_ip", "proto", "src_port", "dst_port", "size_bytes",
};

struct field {
	const char *text;
	size_t length;
};

/* Fields of the line that is read. */
static struct field fields[MOST_FIELDS];

/* Complain of the line that is read. */
static enum trace_status complain_of(const struct trace *trace, const char *what)
{
	complain("%s: line %llu %s", trace->capture.input.name, (unsigned long long)trace->line,
		 what);
	return TRACE_DAMAGED;
}

/* Return the end of a field that begins with a quotation mark: behind its last quotation mark;
 * NULL if it does not end. A comma or an end of a line may be inside, and two quotation marks
 * inside stand for one. */
static const char *end_of_quoted(const char *text, const char *end)
{
	for (text++; (text = memchr(text, '"', (size_t)(end - text))); text += 2)
		if (text + 1 == end || text[1] != '"')
			return text + 1;
	return NULL;
}

/* Take the field that begins at `text`. Returns its end; NULL if it does not end. */
static const char *take_field(const char *text, const char *end, struct field *field)
{
	const char *stop = text;

	if (text < end && *text == '"') {
		stop = end_of_quoted(text, end);
		if (stop)
			*field = (struct field){ text + 1, (size_t)(stop - text) - 2 };
		return stop;
	}
	while (stop < end && *stop != ',' && *stop != '\n')
		stop++;
	*field = (struct field){ text, (size_t)(stop - text) };
	if (stop > text && stop[-1] == '\r' && (stop == end || *stop == '\n'))
		field->length--;
	return stop;
}

/* Take the next line to `fields`. `*count` becomes the number of its fields, and `*bytes` its
 * length with its end. Returns TRACE_PACKET; TRACE_END if there is no line, or TRACE_DAMAGED after
 * complain(). The caller skips the line, after which the fields are not valid any more. */
static enum trace_status read_line(struct trace *trace, int *count, size_t *bytes)
{
	struct input *input = &trace->capture.input;
	const char *text, *end, *at;
	bool whole;

	trace->line++;
	text = (const char *)input_peek(input, LONGEST_LINE);
	whole = !text; /* what is left of the input may be one line */
	if (whole)
		text = (const char *)input->buffer + input->start;
	end = text + (whole ? input_available(input) : LONGEST_LINE);
	if (text == end)
		return TRACE_END;
	for (*count = 0, at = text;; at++) {
		at = take_field(at, end, &fields[(*count)++]);
		if (at && at < end && *at == '\r')
			at++; /* behind a quoted field */
		if (!at || (at == end && !whole))
			return complain_of(trace, whole ? "has a quotation mark that is not closed"
							: "is longer than 16384 characters");
		if (at == end || *at == '\n')
			break;
		if (*at != ',')
			return complain_of(trace, "has characters behind a quoted field");
	}
	*bytes = (size_t)(at - text) + (at < end);
	return TRACE_PACKET;
}

/* Read a whole number in decimal. Returns false if it is none, or above `most`. */
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

/* Read an IPv4 address as most tools write it. inet_pton() would be ten times slower. */
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

/* Read an address. Returns its version of IP, 4 or 6; 0 if it is none. */
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

/* Complain of the value in a column of the line that is read. */
static enum trace_status bad_value(const struct trace *trace, enum column column,
				   struct field field, const char *allowed)
{
	complain("%s: line %llu: %s is '%.*s'; allowed: %s", trace->capture.input.name,
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

/* Turn the fields of a line into a packet. */
static enum trace_status take_fields(struct trace *trace, struct packet *packet)
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

/* Skip the line. A quoted field may have had ends of lines in it, which are counted. */
static void skip_line(struct trace *trace, size_t bytes)
{
	const char *text = (const char *)input_peek(&trace->capture.input, bytes);
	const char *last = text + bytes - 1;

	while ((text = memchr(text, '\n', (size_t)(last - text)))) {
		trace->line++;
		text++;
	}
	input_skip(&trace->capture.input, bytes);
}

/* Read the next packet, behind empty lines. */
static enum trace_status next_csv(struct trace *trace, struct packet *packet)
{
	enum trace_status status;
	size_t bytes;
	int count;

	while ((status = read_line(trace, &count, &bytes)) == TRACE_PACKET) {
		if (count == 1 && !fields[0].length) { /* an empty line */
			skip_line(trace, bytes);
			continue;
		}
		if (count != trace->column_count) {
			complain("%s: line %llu has %d fields instead of %d",
				 trace->capture.input.name, (unsigned long long)trace->line, count,
				 trace->column_count);
			return TRACE_DAMAGED;
		}
		status = take_fields(trace, packet);
		skip_line(trace, bytes);
		break;
	}
	return status;
}

static bool is_named(const struct field *field, const char *name)
{
	return field->length == strlen(name) && memcmp(field->text, name, field->length) == 0;
}

/* Find the place of a column in line 1, whose fields are read. Returns false after complain(). */
static bool find_column(struct trace *trace, enum column column)
{
	trace->columns[column] = -1;
	for (int i = 0; i < trace->column_count; i++) {
		if (!is_named(&fields[i], names[column]))
			continue;
		if (trace->columns[column] >= 0) {
			complain("%s: line 1 names the column %s twice", trace->capture.input.name,
				 names[column]);
			return false;
		}
		trace->columns[column] = i;
	}
	if (trace->columns[column] < 0)
		complain("%s: line 1 names no column %s; a CSV file has the columns "
			 "ts_ns,src_ip,dst_ip,proto,src_port,dst_port,size_bytes",
			 trace->capture.input.name, names[column]);
	return trace->columns[column] >= 0;
}

/* Is this text? Anything else has bytes that text does not have. */
static bool is_text(const struct trace *trace)
{
	const uint8_t *text = trace->capture.input.buffer + trace->capture.input.start;
	size_t bytes = input_available(&trace->capture.input);

	if (bytes > LONGEST_LINE)
		bytes = LONGEST_LINE;
	for (size_t i = 0; i < bytes && text[i] != '\n'; i++)
		if (text[i] < ' ' && text[i] != '\r' && text[i] != '\t')
			return false;
	return true;
}

bool csv_open(struct trace *trace)
{
	size_t bytes;

	if (memcmp(input_peek(&trace->capture.input, 3), BYTE_ORDER_MARK, 3) == 0)
		input_skip(&trace->capture.input, 3);
	input_peek(&trace->capture.input, LONGEST_LINE);
	if (!is_text(trace)) {
		complain("%s: not a trace; allowed: pcap, pcapng, or CSV with a line of column "
			 "names",
			 trace->capture.input.name);
		return false;
	}
	if (read_line(trace, &trace->column_count, &bytes) != TRACE_PACKET)
		return false;
	for (enum column column = 0; column < COLUMNS; column++)
		if (!find_column(trace, column))
			return false;
	skip_line(trace, bytes);
	trace->next = next_csv;
	return true;
}
