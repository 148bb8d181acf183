// SPDX-License-Identifier: Apache-2.0
/* Extracts features from a capture: prints records, or measures the time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../dataplane/common/clock.h"
#include "../../dataplane/common/report.h"
#include "frames.h"
#include "offline.h"
#include "record.h"

#define NS_PER_S 1000000000ULL
#define HEADERS_BYTES 320 /* bytes kept of a frame: as many as the observer captures */

/* --- printing --- */

struct output {
	struct record_head head;
	uint64_t sequence; /* number of the next record */
};

/* Print a record as a line (struct outlet). */
static void print(void *context, const struct record *record)
{
	struct output *output = context;
	char text[RECORD_TEXT_BYTES];
	size_t bytes = record_text(&output->head, record, output->sequence++, text);

	text[bytes++] = '\n';
	fwrite(text, 1, bytes, stdout);
}

static enum parsed parse(const struct captured *frame, struct packet *packet)
{
	enum parsed parsed =
		packet_parse_payload(frame->network.cursor, frame->network.ethertype, packet);

	packet->time_ns = frame->time_ns;
	return parsed;
}

/* Extract all frames of the capture. Returns how it ended. */
static enum capture_status extract(struct extractor *extractor)
{
	enum capture_status status;
	struct captured frame;
	struct packet packet;

	while ((status = frames_next(&frame)) == CAPTURE_FRAME) {
		if (parse(&frame, &packet) != PARSED) {
			frames_leave_out();
			continue;
		}
		/* Windows that end before the packet have their records first. */
		extractor_advance(extractor, packet.time_ns);
		extractor_step(extractor, extractor->settings.flows);
		extractor_add(extractor, &packet);
	}
	extractor_finish(extractor);
	return status;
}

/* Open an extractor. Returns false after complain(). */
static bool open_extractor(struct extractor *extractor, const struct extractor_settings *settings,
			   const struct outlet *outlet)
{
	if (extractor_open(extractor, settings, outlet))
		return true;
	complain("not enough memory for %u flows", settings->flows);
	return false;
}

int offline_print(const char *capture, const struct extractor_settings *settings,
		  const char *source, const char *run)
{
	struct output output = { 0 };
	struct outlet outlet = { .context = &output, .put = print };
	struct extractor extractor;
	enum capture_status status;

	if (!record_head(&output.head, source, run) || !frames_open(capture) ||
	    !open_extractor(&extractor, settings, &outlet))
		return 1;
	status = extract(&extractor);
	extractor_close(&extractor);
	if (fflush(stdout) || ferror(stdout)) {
		complain("cannot write the records");
		return 1;
	}
	if (status != CAPTURE_END)
		return 1;
	frames_print_end(stderr);
	return 0;
}

/* --- measuring --- */

/* The frames of a capture, in memory. */
struct memory {
	struct captured *frames;
	size_t count, room;
	uint64_t span_ns; /* by which the frames are later each time */
};

/* Make room for one more frame. Returns false if memory is missing. */
static bool grow(struct memory *memory)
{
	struct captured *larger;

	if (memory->count < memory->room)
		return true;
	memory->room = memory->room ? 2 * memory->room : 4096;
	larger = realloc(memory->frames, memory->room * sizeof(*larger));
	if (larger)
		memory->frames = larger;
	return larger != NULL;
}

/* Keep the headers of a frame in memory. Returns false after complain(). */
static bool keep(struct memory *memory, const struct captured *frame)
{
	const uint32_t whole = bytes_left(frame->network.cursor);
	const uint32_t bytes = whole < HEADERS_BYTES ? whole : HEADERS_BYTES;
	struct captured *kept;
	uint8_t *copy = malloc(bytes + 1U); /* of 0 bytes it might return NULL */

	if (!copy || !grow(memory)) {
		free(copy);
		complain("not enough memory for the capture");
		return false;
	}
	if (bytes) /* without bytes there may be no place to copy from */
		memcpy(copy, frame->network.cursor.at, bytes);
	kept = &memory->frames[memory->count++];
	*kept = *frame;
	kept->network.cursor = (struct cursor){ copy, copy + bytes };
	return true;
}

/* Read all frames of the capture. Returns false after complain(). */
static bool read_all(struct memory *memory)
{
	enum capture_status status;
	struct captured frame;

	while ((status = frames_next(&frame)) == CAPTURE_FRAME)
		if (!keep(memory, &frame))
			return false;
	if (status == CAPTURE_END && memory->count)
		memory->span_ns = memory->frames[memory->count - 1].time_ns -
				  memory->frames[0].time_ns + NS_PER_S;
	return status == CAPTURE_END;
}

static void forget_all(struct memory *memory)
{
	for (size_t i = 0; i < memory->count; i++)
		free((void *)memory->frames[i].network.cursor.at);
	free(memory->frames);
}

/* Stands for a ring of records: each one takes the place of the last. */
struct kept {
	uint64_t records;
	struct record latest;
};

/* Keep a copy of a record, as a ring would (struct outlet). */
static void keep_record(void *context, const struct record *record)
{
	struct kept *kept = context;

	kept->latest = *record;
	kept->records++;
}

/* Extract the frames so many times, and return the CPU time of that in ns: time of others on the
 * machine does not count. `*packets` becomes how many were extracted; other frames are left out. */
static uint64_t measure(struct extractor *extractor, const struct memory *memory, long times,
			uint64_t *packets)
{
	uint64_t start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	*packets = 0;
	for (long round = 0; round < times; round++) {
		for (size_t i = 0; i < memory->count; i++) {
			struct packet packet;

			if (parse(&memory->frames[i], &packet) != PARSED)
				continue;
			packet.time_ns += (uint64_t)round * memory->span_ns;
			extractor_add(extractor, &packet);
			++*packets;
			if (i % 64 == 0) /* as often as a busy thread does with live packets */
				extractor_step(extractor, 64);
		}
	}
	extractor_finish(extractor);
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
}

int offline_measure(const char *capture, const struct extractor_settings *settings, long times)
{
	struct kept kept = { 0 };
	struct outlet outlet = { .context = &kept, .put = keep_record };
	struct memory memory = { 0 };
	struct extractor extractor;
	uint64_t packets, cpu_ns;
	int status = 1;

	if (!frames_open(capture) || !read_all(&memory))
		goto cleanup;
	if (!open_extractor(&extractor, settings, &outlet))
		goto cleanup;
	cpu_ns = measure(&extractor, &memory, times, &packets);
	printf("{\"packets\": %lu, \"cpu_ns\": %lu, \"records\": %lu, \"flows_evicted\": %lu}\n",
	       packets, cpu_ns, kept.records, extractor.evicted);
	extractor_close(&extractor);
	status = 0;
cleanup:
	forget_all(&memory);
	return status;
}
