/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a line of the tables' file apart, word by word. Functions return 0, or -1 after
 * complain(). */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* A file whose lines are taken apart, and the line that is being read. */
struct words {
	const char *file; /* its name, for complaints */
	unsigned int line; /* number of the line, from 1 on */
	char *rest; /* what is left of the line */
};

/* Begin a line of so many bytes, which a zero ends. Zero bytes inside it are refused. Taking words
 * changes the line. */
int words_begin(struct words *words, char *line, size_t bytes);

/* Has the line no further word? */
bool ended(struct words *words);

/* Is this the next word? */
bool offers(struct words *words, const char *word);

/* Each of these takes the word `name`, and then a value. `text` has IF_NAMESIZE bytes; `choices`
 * end with NULL, and `place` is the value's place there; take_value() returns NULL after
 * complain(). */
int take_number(struct words *words, const char *name, long least, long most, long *number);
int take_interface_name(struct words *words, const char *name, char *text);
int take_choice(struct words *words, const char *name, const char *const *choices, long *place);
int take_mac(struct words *words, const char *name, __u8 *mac);
int take_address(struct words *words, const char *name, __be32 *address);
char *take_value(struct words *words, const char *name);

/* Each of these takes a value without a word in front. `name` is for complaints. */
int next_number(struct words *words, const char *name, long least, long most, long *number);
int next_interface_name(struct words *words, const char *name, char *text);

/* Refuse the line if it has further words. */
int no_more(struct words *words);

/* Complain, with the file's name and the line's number. Returns -1, for the caller to return. */
int refuse_line(const struct words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Add an item, which is zero, at the end of a LIST(). Returns the item, which may move when another
 * one is added. */
#define grow(list)                                                                                 \
	((typeof((list)->items))grow_bytes((void **)&(list)->items, &(list)->count, &(list)->room, \
					   sizeof(*(list)->items)))
void *grow_bytes(void **items, unsigned int *count, unsigned int *room, size_t bytes);
