// SPDX-License-Identifier: Apache-2.0
/* Words of a line in the tables' file, which SFCPerf writes for sfc-sff. */
#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/options.h"
#include "../common/report.h"
#include "words.h"

#define FIRST_ROOM 16

int refuse_line(const struct words *words, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* A file may contain anything, and a terminal would obey control characters. */
	for (char *c = text; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	complain("%s:%u: %s", words->file, words->line, text);
	return -1;
}

int words_begin(struct words *words, char *line, size_t bytes)
{
	words->line++;
	words->rest = line;
	if (strlen(line) != bytes)
		return refuse_line(words, "a line must not have zero bytes");
	line[strcspn(line, "#\n")] = '\0';
	return 0;
}

/* Skip blanks. Returns the start of the next word, or the end of the line. */
static char *start(struct words *words)
{
	while (isblank((unsigned char)*words->rest))
		words->rest++;
	return words->rest;
}

bool ended(struct words *words)
{
	return *start(words) == '\0';
}

bool offers(struct words *words, const char *word)
{
	const char *next = start(words);
	size_t bytes = strlen(word);

	return strncmp(next, word, bytes) == 0 &&
	       (!next[bytes] || isblank((unsigned char)next[bytes]));
}

/* Take the next word. Returns NULL if the line has ended. */
static char *next(struct words *words)
{
	char *word = start(words);

	words->rest = word + strcspn(word, " \t");
	if (*words->rest)
		*words->rest++ = '\0';
	return *word ? word : NULL;
}

/* Take the next word as the value of `name`. Returns NULL after complain() if the line has
 * ended. */
static char *next_value(struct words *words, const char *name)
{
	char *value = next(words);

	if (!value)
		refuse_line(words, "%s has no value", name);
	return value;
}

/* Take the word `name`. Returns 0, or -1 after complain(). */
static int skip_word(struct words *words, const char *name)
{
	if (!offers(words, name))
		return refuse_line(words, "expected '%s' and its value", name);
	next(words);
	return 0;
}

char *take_value(struct words *words, const char *name)
{
	return skip_word(words, name) ? NULL : next_value(words, name);
}

int next_number(struct words *words, const char *name, long least, long most, long *number)
{
	const char *value = next_value(words, name);

	if (!value)
		return -1;
	if (parse_integer(value, least, most, number))
		return refuse_line(words, "%s is '%s', not a number from %ld to %ld", name, value,
				   least, most);
	return 0;
}

int take_number(struct words *words, const char *name, long least, long most, long *number)
{
	return skip_word(words, name) || next_number(words, name, least, most, number);
}

int next_interface_name(struct words *words, const char *name, char *text)
{
	const char *value = next_value(words, name);

	if (!value)
		return -1;
	if (strlen(value) >= IF_NAMESIZE)
		return refuse_line(words,
				   "%s is '%s', which is longer than the %d characters of an "
				   "interface's name",
				   name, value, IF_NAMESIZE - 1);
	strcpy(text, value);
	return 0;
}

int take_interface_name(struct words *words, const char *name, char *text)
{
	return skip_word(words, name) || next_interface_name(words, name, text);
}

/* Return the choices as text, such as "one, two, three", until the next call. */
static const char *listed(const char *const *choices)
{
	static char text[128];

	*text = '\0';
	for (; *choices; choices++) {
		strncat(text, *choices, 32);
		if (choices[1])
			strcat(text, ", ");
	}
	return text;
}

int take_choice(struct words *words, const char *name, const char *const *choices, long *place)
{
	const char *value = take_value(words, name);

	if (!value)
		return -1;
	*place = find_word(choices, value, strlen(value));
	if (*place < 0)
		return refuse_line(words, "%s is '%s', not one of: %s", name, value,
				   listed(choices));
	return 0;
}

/* Read a MAC address. Returns 0, or -1 if the text is none. */
static int parse_mac(const char *text, __u8 *mac)
{
	for (int i = 0; i < 6; i++, text += 3) {
		const char separator = i < 5 ? ':' : '\0';

		if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]) ||
		    text[2] != separator)
			return -1;
		mac[i] = (__u8)strtoul(text, NULL, 16);
	}
	return 0;
}

int take_mac(struct words *words, const char *name, __u8 *mac)
{
	const char *value = take_value(words, name);
	if (!value)
		return -1;
	if (parse_mac(value, mac))
		return refuse_line(words, "%s is '%s', not a MAC address such as 02:00:00:00:00:01",
				   name, value);
	return 0;
}

int take_address(struct words *words, const char *name, __be32 *address)
{
	const char *value = take_value(words, name);

	if (!value)
		return -1;
	if (inet_pton(AF_INET, value, address) != 1)
		return refuse_line(words, "%s is '%s', not an IPv4 address", name, value);
	return 0;
}

int no_more(struct words *words)
{
	return ended(words) ? 0 : refuse_line(words, "unexpected '%s'", next(words));
}

void *grow_bytes(void **items, unsigned int *count, unsigned int *room, size_t bytes)
{
	if (*count == *room) {
		*room = *room ? 2 * *room : FIRST_ROOM;
		*items = realloc(*items, *room * bytes);
		if (!*items)
			abort(); /* a small machine without memory; the kernel would end us too */
	}
	return memset((char *)*items + (*count)++ * bytes, 0, bytes);
}
