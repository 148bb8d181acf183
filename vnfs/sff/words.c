// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/options.h"
#include "../common/report.h"
#include "words.h"

#define FIRST_ROOM 16

int object(const struct words *words, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	complain("%s:%u: %s", words->file, words->line, text);
	return -1;
}

void words_begin(struct words *words, char *line)
{
	line[strcspn(line, "#\n")] = '\0';
	words->rest = line;
	words->line++;
}

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

static char *next(struct words *words)
{
	char *word = start(words);

	words->rest = word + strcspn(word, " \t");
	if (*words->rest)
		*words->rest++ = '\0';
	return *word ? word : NULL;
}

char *take_value(struct words *words, const char *name)
{
	char *value;

	if (name && !offers(words, name)) {
		object(words, "expected '%s' and its value", name);
		return NULL;
	}
	if (name)
		next(words);
	value = next(words);
	if (!value)
		object(words, "%s has no value", name ? name : "the last word");
	return value;
}

int take_number(struct words *words, const char *name, long least, long most, long *number)
{
	const char *value = take_value(words, name);

	if (!value)
		return -1;
	if (parse_integer(value, least, most, number))
		return object(words, "'%s' is not a number from %ld to %ld", value, least, most);
	return 0;
}

int take_name(struct words *words, const char *name, char *text, size_t room)
{
	const char *value = take_value(words, name);

	if (!value)
		return -1;
	if (strlen(value) >= room)
		return object(words, "'%s' is longer than %zu characters", value, room - 1);
	strcpy(text, value);
	return 0;
}

int take_choice(struct words *words, const char *name, const char *const *choices, long *place)
{
	const char *value = take_value(words, name);

	if (!value)
		return -1;
	*place = find_word(choices, value, strlen(value));
	if (*place < 0)
		return object(words, "%s does not know '%s'", name, value);
	return 0;
}

int take_mac(struct words *words, const char *name, __u8 *mac)
{
	const char *value = take_value(words, name);
	unsigned int octets[6];
	char more;

	if (!value)
		return -1;
	if (sscanf(value, "%2x:%2x:%2x:%2x:%2x:%2x%c", &octets[0], &octets[1], &octets[2],
		   &octets[3], &octets[4], &octets[5], &more) != 6)
		return object(words, "'%s' is not a MAC address", value);
	for (int i = 0; i < 6; i++)
		mac[i] = (__u8)octets[i];
	return 0;
}

int take_address(struct words *words, const char *name, __be32 *address)
{
	const char *value = take_value(words, name);

	if (!value)
		return -1;
	if (inet_pton(AF_INET, value, address) != 1)
		return object(words, "'%s' is not an IPv4 address", value);
	return 0;
}

int no_more(struct words *words)
{
	return ended(words) ? 0 : object(words, "unexpected '%s'", next(words));
}

void *grow_bytes(void **items, unsigned int *count, unsigned int *room, size_t bytes)
{
	if (*count == *room) {
		*room = *room ? 2 * *room : FIRST_ROOM;
		*items = realloc(*items, *room * bytes);
		if (!*items)
			abort(); /* a small machine without memory; the kernel would end us anyway */
	}
	return memset((char *)*items + (*count)++ * bytes, 0, bytes);
}
