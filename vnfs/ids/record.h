/* SPDX-License-Identifier: Apache-2.0 */
/* Writes records as JSON (schemas/flow-record.schema.json). */
#pragma once

#include "extractor.h"

#define RECORD_TEXT_BYTES 2048
#define RECORD_KEY_BYTES 128
#define RECORD_NAME_BYTES 128 /* of `source`, and of `run`, as strings of JSON */

/* The text that all records of a source have in front of their `sequence`. */
struct record_head {
	char text[64 + 2 * RECORD_NAME_BYTES];
	size_t bytes;
};

/* Make that text. Returns false if a name is too long. */
bool record_head(struct record_head *head, const char *source, const char *run);

/* Write a record as a line without its end. Returns how many bytes it has. */
size_t record_text(const struct record_head *head, const struct record *record, uint64_t sequence,
		   char text[RECORD_TEXT_BYTES]);

/* Write the flow as PROTOCOL/ADDRESS/PORT/ADDRESS/PORT, the lower end first. Both directions
 * have the same key, so all records of a flow are in one partition. Returns how many bytes it
 * has. */
size_t record_key(const struct record *record, char text[RECORD_KEY_BYTES]);
