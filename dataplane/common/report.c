// SPDX-License-Identifier: Apache-2.0
/* Complaints of a tool, and texts in JSON. */
#include <stdarg.h>

#include "report.h"

/* This text stands until there is a complaint: argp complains by itself. */
static char complaint[1024] = "wrong options; stderr says which";

/* Print a character. Control characters are escaped: text of others may have some, and a
 * terminal would obey them. */
static void put_character(FILE *out, unsigned char c)
{
	if (c < 0x20 || c > 0x7e)
		fprintf(out, "\\u%04x", c);
	else
		fputc(c, out);
}

void complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, sizeof(complaint), format, arguments);
	va_end(arguments);
	fprintf(stderr, "%s: ", tool_name);
	for (const char *at = complaint; *at; at++) {
		if (*at == '\n')
			fputc('\n', stderr); /* before a log */
		else
			put_character(stderr, (unsigned char)*at);
	}
	fputc('\n', stderr);
}

const char *last_complaint(void)
{
	return complaint;
}

void json_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fputc('\\', out);
		put_character(out, c);
	}
	fputc('"', out);
}

void json_failed(FILE *out)
{
	fputs("{\"event\": \"failed\", \"error\": ", out);
	json_string(out, complaint);
	fputs("}\n", out);
}
