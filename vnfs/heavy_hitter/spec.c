// SPDX-License-Identifier: Apache-2.0
/* Reads the program of an SWX pipeline. DPDK itself reads such files only to write C for a
 * compiler (rte_swx_pipeline_codegen), which then needs headers that are not installed. Here,
 * the public functions are called that this C would call. Only what p4c-dpdk writes for a
 * program with learner tables and registers is understood.
 *
 * Functions that read a statement begin behind its first line, which is in `words`. They return 0,
 * -1 after complain(), or a smaller number: DPDK's error. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../dataplane/common/report.h"
#include "spec.h"

#define MOST_WORDS 16
#define MOST_LINES 4096 /* most lines of a block */
#define MOST_PARTS 16 /* most fields, actions and timeouts of a learner */
#define LINE_BYTES 512

/* A file that is being read, and its present line. */
struct reader {
	struct rte_swx_pipeline *pipeline; /* gets what is read */
	const char *path;
	const struct spec_size *sizes;
	FILE *file;
	unsigned int line; /* its number */
	char text[LINE_BYTES]; /* cut into words */
	char *words[MOST_WORDS];
	unsigned int count; /* of the words */
};

/* Complain about the line. Returns -1, for the caller to return. */
static int wrong(const struct reader *reader, const char *what)
{
	complain("%s, line %u: %s", reader->path, reader->line, what);
	return -1;
}

/* Read the next line that has words, and split it. Returns false at the end of the file. */
static bool next_line(struct reader *reader)
{
	while (fgets(reader->text, sizeof(reader->text), reader->file)) {
		char *word = strtok(reader->text, " \t\n");

		reader->line++;
		reader->count = 0;
		for (; word && reader->count < MOST_WORDS; word = strtok(NULL, " \t\n"))
			reader->words[reader->count++] = word;
		if (reader->count)
			return true;
	}
	reader->count = 0;
	return false;
}

/* Is the word at this place this one? */
static bool is(const struct reader *reader, unsigned int place, const char *word)
{
	return place < reader->count && strcmp(reader->words[place], word) == 0;
}

/* Return the size of a learner or register array: `size`, unless another one is asked for. */
static uint32_t size_of(const struct reader *reader, const char *name, uint32_t size)
{
	for (const struct spec_size *one = reader->sizes; one->name; one++) {
		size_t bytes = strcspn(one->name, "*");

		if (one->name[bytes] ? strncmp(one->name, name, bytes) == 0
				     : strcmp(one->name, name) == 0)
			return one->size;
	}
	return size;
}

/* Read the lines up to the closing brace, at most `most`, their words joined by single blanks.
 * Returns 0, or -1 after complain(). The caller frees the lines with free_block(), in both cases. */
static int read_block(struct reader *reader, char **lines, unsigned int most, unsigned int *count)
{
	*count = 0;
	while (next_line(reader)) {
		char joined[LINE_BYTES] = "";

		if (is(reader, 0, "}"))
			return 0;
		if (*count == most)
			return wrong(reader, "the block is too long");
		for (unsigned int i = 0; i < reader->count; i++) {
			strcat(joined, i ? " " : "");
			strcat(joined, reader->words[i]);
		}
		lines[(*count)++] = strdup(joined);
	}
	return wrong(reader, "a block does not end");
}

static void free_block(char **lines, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		free(lines[i]);
}

/* Read a field, "bit<32> name" or "varbit<320> name"; `*variable` becomes 1 for the latter, else 0.
 * The name of the field is kept in `line`. Returns 0, or -1 after complain(). */
static int read_field(const struct reader *reader, char *line, struct rte_swx_field_params *field,
		      int *variable)
{
	char type[8], name[RTE_SWX_NAME_SIZE];

	if (sscanf(line, "%7[a-z]<%u> %63s", type, &field->n_bits, name) != 3)
		return wrong(reader, "the structure has a field of another form");
	*variable = strcmp(type, "varbit") == 0;
	strcpy(line, name);
	field->name = line;
	return 0;
}

/* Read `struct NAME {`, a field in each line, `}`. */
static int read_struct(struct reader *reader)
{
	static struct rte_swx_field_params fields[MOST_LINES];
	static char *lines[MOST_LINES];
	char name[RTE_SWX_NAME_SIZE];
	int variable = 0, status = -1;
	unsigned int count;

	snprintf(name, sizeof(name), "%s", reader->words[1]);
	if (read_block(reader, lines, MOST_LINES, &count))
		goto end;
	for (unsigned int i = 0; i < count; i++)
		if (read_field(reader, lines[i], &fields[i], &variable))
			goto end;
	status = rte_swx_pipeline_struct_type_register(reader->pipeline, name, fields, count,
						       variable);
end:
	free_block(lines, count);
	return status;
}

/* Read `action NAME args none {`, an instruction in each line, `}`. */
static int read_action(struct reader *reader)
{
	static char *lines[MOST_LINES];
	char name[RTE_SWX_NAME_SIZE];
	unsigned int count;
	int status = -1;

	snprintf(name, sizeof(name), "%s", reader->words[1]);
	if (!is(reader, 3, "none"))
		return wrong(reader, "an action has arguments");
	if (!read_block(reader, lines, MOST_LINES, &count))
		status = rte_swx_pipeline_action_config(reader->pipeline, name, NULL,
							(const char **)lines, count);
	free_block(lines, count);
	return status;
}

/* Read `apply {`, an instruction in each line, `}`. */
static int read_apply(struct reader *reader)
{
	static char *lines[MOST_LINES];
	unsigned int count;
	int status = -1;

	if (!read_block(reader, lines, MOST_LINES, &count))
		status = rte_swx_pipeline_instructions_config(reader->pipeline,
							      (const char **)lines, count);
	free_block(lines, count);
	return status;
}

static int read_regarray(struct reader *reader)
{
	uint32_t size;

	if (reader->count != 6)
		return wrong(reader, "it is not `regarray NAME size SIZE initval VALUE`");
	size = size_of(reader, reader->words[1], (uint32_t)strtoul(reader->words[3], NULL, 0));
	return rte_swx_pipeline_regarray_config(reader->pipeline, reader->words[1], size,
						strtoull(reader->words[5], NULL, 0));
}

/* A learner table: it gets entries from the pipeline. */
struct learner {
	char name[RTE_SWX_NAME_SIZE];
	char default_action[RTE_SWX_NAME_SIZE];
	char *fields[MOST_PARTS], *actions[MOST_PARTS]; /* fields of the key */
	unsigned int field_count, action_count, timeout_count;
	int in_table[MOST_PARTS], is_default[MOST_PARTS]; /* of actions: for entries, for misses */
	uint32_t size, timeouts[MOST_PARTS];
};

/* Read `timeout {`, a number of seconds in each line, `}`. */
static int read_timeouts(struct reader *reader, struct learner *learner)
{
	while (next_line(reader) && !is(reader, 0, "}")) {
		if (learner->timeout_count == MOST_PARTS)
			return wrong(reader, "too many timeouts");
		learner->timeouts[learner->timeout_count++] =
			(uint32_t)strtoul(reader->words[0], NULL, 0);
	}
	return 0;
}

/* Split an action from @tableonly or @defaultonly behind it. Without either it may be both: of
 * entries, and the default action. */
static void split_action(struct learner *learner, unsigned int place)
{
	char *word = strchr(learner->actions[place], ' ');

	learner->in_table[place] = !word || strcmp(word, " @defaultonly") != 0;
	learner->is_default[place] = !word || strcmp(word, " @tableonly") != 0;
	if (word)
		*word = '\0';
}

/* Read a line of a learner, and the block that begins in it if one does. */
static int read_learner_line(struct reader *reader, struct learner *learner)
{
	if (is(reader, 0, "key"))
		return read_block(reader, learner->fields, MOST_PARTS, &learner->field_count);
	if (is(reader, 0, "actions")) {
		if (read_block(reader, learner->actions, MOST_PARTS, &learner->action_count))
			return -1;
		for (unsigned int i = 0; i < learner->action_count; i++)
			split_action(learner, i);
		return 0;
	}
	if (is(reader, 0, "timeout"))
		return read_timeouts(reader, learner);
	if (reader->count < 2)
		return wrong(reader, "a learner has something else");
	if (is(reader, 0, "size"))
		learner->size = size_of(reader, learner->name,
					(uint32_t)strtoul(reader->words[1], NULL, 0));
	else if (is(reader, 0, "default_action"))
		snprintf(learner->default_action, sizeof(learner->default_action), "%s",
			 reader->words[1]);
	else if (!is(reader, 0, "hash"))
		return wrong(reader, "a learner has something else");
	return 0;
}

static int configure_learner(struct reader *reader, struct learner *learner)
{
	struct rte_swx_pipeline_learner_params params = {
		.field_names = (const char **)learner->fields,
		.n_fields = learner->field_count,
		.action_names = (const char **)learner->actions,
		.action_is_for_table_entries = learner->in_table,
		.action_is_for_default_entry = learner->is_default,
		.n_actions = learner->action_count,
		.default_action_name = learner->default_action,
	};

	return rte_swx_pipeline_learner_config(reader->pipeline, learner->name, &params,
					       learner->size, learner->timeouts,
					       learner->timeout_count);
}

/* Read `learner NAME {`, its parts, `}`. */
static int read_learner(struct reader *reader)
{
	struct learner learner = { 0 };
	int status = 0;

	snprintf(learner.name, sizeof(learner.name), "%s", reader->words[1]);
	while (!status && next_line(reader) && !is(reader, 0, "}"))
		status = read_learner_line(reader, &learner);
	if (!status)
		status = configure_learner(reader, &learner);
	free_block(learner.fields, learner.field_count);
	free_block(learner.actions, learner.action_count);
	return status;
}

/* Read the statement that begins in the present line. */
static int read_statement(struct reader *reader)
{
	const char *const *words = (const char *const *)reader->words;

	if (is(reader, 0, "apply"))
		return read_apply(reader);
	if (reader->count < 3)
		return wrong(reader, "this is not understood");
	if (is(reader, 0, "struct"))
		return read_struct(reader);
	if (is(reader, 0, "metadata"))
		return rte_swx_pipeline_packet_metadata_register(reader->pipeline, words[2]);
	if (is(reader, 0, "header") && reader->count == 4)
		return rte_swx_pipeline_packet_header_register(reader->pipeline, words[1],
							       words[3]);
	if (is(reader, 0, "regarray"))
		return read_regarray(reader);
	if (is(reader, 0, "action"))
		return read_action(reader);
	if (is(reader, 0, "learner"))
		return read_learner(reader);
	return wrong(reader, "this is not understood");
}

int spec_configure(struct rte_swx_pipeline *pipeline, const char *path,
		   const struct spec_size *sizes)
{
	struct reader reader = { .pipeline = pipeline, .path = path, .sizes = sizes };
	int status = 0;

	reader.file = fopen(path, "re");
	if (!reader.file) {
		complain("%s: %s", path, strerror(errno));
		return -1;
	}
	while (!status && next_line(&reader)) {
		if (reader.words[0][0] == ';') /* a comment */
			continue;
		status = read_statement(&reader);
		if (status < -1) /* nobody has complained yet */
			wrong(&reader, "DPDK refuses what ends here");
	}
	fclose(reader.file);
	return status ? -1 : 0;
}

/* Copy the file with the sizes that are asked for. Returns the copy, a temporary file that is gone
 * when it is closed; NULL if there can be none. */
static FILE *resized(struct reader *reader)
{
	FILE *copy = tmpfile();
	char name[RTE_SWX_NAME_SIZE] = ""; /* of the learner that was met last */

	while (copy && next_line(reader)) {
		if (is(reader, 0, "learner"))
			snprintf(name, sizeof(name), "%s", reader->words[1]);
		for (unsigned int i = 0; i < reader->count; i++) {
			bool array = is(reader, 0, "regarray") && i == 3;
			uint32_t size = (uint32_t)strtoul(reader->words[i], NULL, 0);

			if (array || (is(reader, 0, "size") && i == 1))
				fprintf(copy, "%u ",
					size_of(reader, array ? reader->words[1] : name, size));
			else
				fprintf(copy, "%s ", reader->words[i]);
		}
		fprintf(copy, "\n");
	}
	if (copy)
		rewind(copy);
	return copy;
}

int spec_generate(const char *path, const struct spec_size *sizes, const char *code_path)
{
	struct reader reader = { .path = path, .sizes = sizes, .file = fopen(path, "re") };
	FILE *copy = reader.file ? resized(&reader) : NULL;
	FILE *code = copy ? fopen(code_path, "we") : NULL;
	const char *error = "";
	uint32_t line = 0;
	int status = -1;

	if (!code)
		complain("%s: %s", copy ? code_path : path, strerror(errno));
	else if (rte_swx_pipeline_codegen(copy, code, &line, &error))
		complain("%s, line %u: %s", path, line, error);
	else
		status = 0;
	if (code && fclose(code) && !status) {
		complain("%s: %s", code_path, strerror(errno));
		status = -1;
	}
	if (copy)
		fclose(copy);
	if (reader.file)
		fclose(reader.file);
	return status;
}
