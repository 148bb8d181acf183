// SPDX-License-Identifier: Apache-2.0
/* Parses command lines by the table of a tool's options, with argp. */
#include <argp.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define MOST_OPTIONS 40
#define FIRST_KEY 0x100 /* first key of options without a letter */

/* What options_parse() got, for parse(). */
struct command {
	const char *arguments;
	struct tool_option *options;
	void (*check)(char **words, unsigned int count);
};

static const struct argp_state *parsing; /* for give_up() */

int parse_integer(const char *text, long least, long most, long *number)
{
	if (!*text || text[strspn(text, "0123456789")])
		return -1;
	errno = 0;
	*number = strtol(text, NULL, 10);
	return errno || *number < least || *number > most ? -1 : 0;
}

int parse_decimal(const char *text, double least, double most, double *number)
{
	char *end;

	if (!strpbrk(text, "0123456789") || text[strspn(text, "0123456789.e+-")])
		return -1;
	*number = strtod(text, &end);
	return *end || *number < least || *number > most ? -1 : 0;
}

void give_up(void)
{
	argp_state_help(parsing, stderr, ARGP_HELP_SEE | ARGP_HELP_EXIT_ERR);
	exit(argp_err_exit_status);
}

void take_text(const struct tool_option *option, const char *argument)
{
	*(const char **)option->value = argument;
}

void take_flag(const struct tool_option *option, const char *argument)
{
	(void)argument;
	*(bool *)option->value = true;
}

void take_interface(const struct tool_option *option, const char *argument)
{
	if (!*argument || strlen(argument) >= IF_NAMESIZE)
		refuse("--%s: '%s' is not the name of an interface", option->name, argument);
	take_text(option, argument);
}

void take_integer(const struct tool_option *option, const char *argument)
{
	if (parse_integer(argument, option->least, option->most, option->value))
		refuse("--%s: a whole number from %ld to %ld, not '%s'", option->name,
		       option->least, option->most, argument);
}

void take_decimal(const struct tool_option *option, const char *argument)
{
	if (parse_decimal(argument, (double)option->least, (double)option->most, option->value))
		refuse("--%s: a number from %ld to %ld, not '%s'", option->name, option->least,
		       option->most, argument);
}

int find_word(const char *const *words, const char *word, unsigned long bytes)
{
	for (int i = 0; words[i]; i++)
		if (strlen(words[i]) == bytes && memcmp(words[i], word, bytes) == 0)
			return i;
	return -1;
}

void take_word(const struct tool_option *option, const char *argument)
{
	const char *const *words = option->words;
	int found = find_word(words, argument, strlen(argument));
	char allowed[128] = "";

	for (int i = 0; words[i]; i++) {
		if (i)
			strcat(allowed, words[i + 1] ? ", " : " or ");
		strncat(allowed, words[i], 32);
	}
	if (found < 0)
		refuse("--%s: %s, not '%s'", option->name, allowed, argument);
	*(int *)option->value = found;
}

/* Refuse a command line that lacks a required option, unless an option excuses that. */
static void check_required(const struct tool_option *options)
{
	const struct tool_option *option;

	for (option = options; option->help; option++)
		if (option->excuses && option->seen)
			return;
	for (option = options; option->help; option++)
		if (option->required && !option->seen)
			refuse("--%s is missing", option->name);
}

/* Return the key by which argp knows an option. `place`: its place in the table. */
static int key_of(const struct tool_option *option, long place)
{
	return option->letter ? option->letter : FIRST_KEY + (int)place;
}

/* Take what argp has found: an option, the positional arguments, or the end. */
static error_t parse(int key, char *argument, struct argp_state *state)
{
	const struct command *command = state->input;
	static unsigned int count; /* of `words`, the positional arguments: kept until the end */
	static char **words;

	parsing = state;
	for (struct tool_option *option = command->options; option->help; option++) {
		if (!option->name || key != key_of(option, option - command->options))
			continue;
		option->seen = true;
		option->take(option, argument);
		return 0;
	}
	switch (key) {
	case ARGP_KEY_ARGS:
		words = state->argv + state->next;
		count = (unsigned int)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		if (count && !command->arguments)
			refuse("'%s' is not an option", words[0]);
		check_required(command->options);
		if (command->check)
			command->check(words, count);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void options_parse(int argc, char **argv, const char *documentation, const char *arguments,
		   struct tool_option *options, void (*check)(char **words, unsigned int count))
{
	struct command command = { arguments, options, check };
	struct argp_option descriptions[MOST_OPTIONS + 1] = { 0 };
	const struct argp argp = {
		.options = descriptions,
		.parser = parse,
		.args_doc = arguments,
		.doc = documentation,
	};
	static char version[32];
	int group = 0;

	for (int i = 0; i < MOST_OPTIONS && options[i].help; i++) {
		const struct tool_option *option = &options[i];

		descriptions[i] = (struct argp_option){
			.name = option->name,
			.key = option->name ? key_of(option, i) : 0,
			.arg = option->argument,
			.doc = option->help,
			/* 0: that of the heading before it */
			.group = option->name ? 0 : ++group,
		};
	}
	snprintf(version, sizeof(version), "%s 1", tool_name);
	argp_program_version = version;
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &command);
}
