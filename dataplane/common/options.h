/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: a tool describes its options in a table. What is wrong ends it with status 2 and a
 * message. */
#pragma once

#include <stdbool.h>

#include "report.h"

struct tool_option {
	const char *name; /* long one; NULL: `help` is the heading of those that follow */
	int letter; /* short one; 0: none */
	const char *argument; /* NULL: it takes none */
	const char *help;
	/* Take the argument to `value`: one of those below, or the tool's own. */
	void (*take)(const struct tool_option *option, const char *argument);
	void *value;
	const char *const *words; /* of take_word() */
	long least, most; /* of take_integer() and take_decimal() */
	bool required;
	bool excuses; /* if it is given, no option is required */
	bool seen;
};

void take_text(const struct tool_option *option, const char *argument); /* const char * */
void take_flag(const struct tool_option *option, const char *argument); /* bool */
void take_interface(const struct tool_option *option, const char *argument); /* const char * */
void take_integer(const struct tool_option *option, const char *argument); /* long */
void take_decimal(const struct tool_option *option, const char *argument); /* double */
void take_word(const struct tool_option *option, const char *argument); /* int: place in `words` */

/* Place of a word among words, of which NULL is the last, or -1. `bytes` of it are looked at. */
int find_word(const char *const *words, const char *word, unsigned long bytes);

/* Take the options, of which the last one is { 0 }. The documentation has \v between what precedes and
 * what follows them. `arguments`: how --help names the positional arguments; NULL if there are none.
 * `check` (may be NULL) judges the options together, at the end; `words` are the positional arguments. */
void options_parse(int argc, char **argv, const char *documentation, const char *arguments,
		   struct tool_option *options, void (*check)(char **words, unsigned int count));

/* Decimal numbers. The number is the whole text: strtol() and strtod() accept blanks, signs,
 * hexadecimal and nan too. 0, or -1 when it is none or out of range. */
int parse_integer(const char *text, long least, long most, long *number);
int parse_decimal(const char *text, double least, double most, double *number);

/* Refuse the command line, with a reason. */
#define refuse(...) (complain(__VA_ARGS__), give_up())
void give_up(void) __attribute__((noreturn));
