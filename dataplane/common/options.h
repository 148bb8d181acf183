/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: a tool describes its options in a table. A wrong command line ends the tool
 * with status 2 and a message. */
#pragma once

#include <stdbool.h>

#include "report.h"

/* An option, or a heading in --help. */
struct tool_option {
	const char *name; /* long name; NULL: `help` is the heading of the options that follow */
	int letter; /* short name; 0: none */
	const char *argument; /* name of the argument in --help; NULL: it takes none */
	const char *help;
	/* Takes the argument to `value`: one of the functions below, or the tool's own. */
	void (*take)(const struct tool_option *option, const char *argument);
	void *value;
	const char *const *words; /* for take_word() */
	long least, most; /* for take_integer() and take_decimal() */
	bool required;
	bool excuses; /* if it is given, no option is required */
	bool seen; /* set when the option was given */
};

/* Take an argument to `value`, of the type that the comment names. */
void take_text(const struct tool_option *option, const char *argument); /* const char * */
void take_flag(const struct tool_option *option, const char *argument); /* bool */
void take_interface(const struct tool_option *option, const char *argument); /* const char * */
void take_integer(const struct tool_option *option, const char *argument); /* long */
void take_decimal(const struct tool_option *option, const char *argument); /* double */
void take_word(const struct tool_option *option, const char *argument); /* int: place in `words` */

/* Return the place of a word in a list that NULL ends, or -1. `word` has `bytes` bytes. */
int find_word(const char *const *words, const char *word, unsigned long bytes);

/* Parse the command line by a table of options, of which the last one is { 0 }. The
 * documentation has \v between what stands in front of the options in --help and what stands
 * behind. `arguments`: how --help names the positional arguments; NULL if there are none.
 * `check` (may be NULL) judges all options together, at the end; `words` are the positional
 * arguments. */
void options_parse(int argc, char **argv, const char *documentation, const char *arguments,
		   struct tool_option *options, void (*check)(char **words, unsigned int count));

/* Read a decimal number, which must be the whole text: strtol() and strtod() also accept blanks,
 * signs, hexadecimal and nan. Returns 0, or -1 if it is no number or out of range. */
int parse_integer(const char *text, long least, long most, long *number);
int parse_decimal(const char *text, double least, double most, double *number);

/* Refuse the command line, with a reason, and end the tool. */
#define refuse(...) (complain(__VA_ARGS__), give_up())
void give_up(void) __attribute__((noreturn));
