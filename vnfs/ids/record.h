/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON (schemas/flow-record.schema.json). */
#pragma once

#include "extractor.h"

#define RECORD_TEXT_BYTES 2048
#define RECORD_KEY_BYTES 128
#define RECORD_NAME_BYTES 128 /* of source and run, each, as JSON has them */

/* What all records of a source have in front of their `sequence`. */
struct record_head {
	char text[64 + 2 * RECORD_NAME_BYTES];
	size_t bytes;
};

/* False: a name is too long. */
bool record_head(struct record_head *head, const char *source, const char *run);

/* One line without its end. Returns its bytes. */
size_t record_text(const struct record_head *head, const struct record *record, uint64_t sequence,
		   char text[RECORD_TEXT_BYTES]);

/* The flow as PROTOCOL/ADDRESS/PORT/ADDRESS/PORT, the lower end first: both directions have one
 * key, and so all records of a flow are in one partition. */
size_t record_key(const struct record *record, char text[RECORD_KEY_BYTES]);
