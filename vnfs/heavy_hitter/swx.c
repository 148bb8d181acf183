// SPDX-License-Identifier: Apache-2.0
/* Engine `swx`: runs the P4 program in a pipeline of DPDK. engine.h says what the functions
 * swx_...() do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_port_ring.h>

#include "../../dataplane/common/report.h"
#include "spec.h"
#include "swx.h"

#define IN_FRAMES 256
#define OUT_FRAMES 1024 /* for all frames that wait at all ports, or are worked on */
#define LEARNER "flows"
#define REPORTS 4096

/* Passes of the pipeline for each frame that waits or is worked on. They are fewer than a frame
 * takes: the next call works on, and passes without a frame would cost time. A pass of generated
 * code does more. */
#define PASSES_INTERPRETED 64
#define PASSES_GENERATED 2
#define PIPELINE_THREADS 16 /* each works on one frame at a time */

/* The program finds this in front of each frame: its length, 16 bits, and as many reserved ones. */
#define FRAME_INFO_BYTES 4
#define LOOKED_AT_BYTES 64

/* Places in the registers of p4/heavy_hitter.p4. */
enum {
	SETTING_ROWS,
	SETTING_SEED,
	SETTING_ACTION,
	SETTING_CONSERVATIVE,
	SETTING_NSH_ONLY,
	SETTING_REFLECT
};
enum { WIDE_EPOCH, WIDE_THRESHOLD, WIDE_MAC, WIDE_NEXT };
enum { OCTET_IPV4, OCTET_IPV6, OCTET_IPV6_LABEL };

enum {
	REPORT_SOURCE_HIGH,
	REPORT_SOURCE_LOW,
	REPORT_DESTINATION_HIGH,
	REPORT_DESTINATION_LOW,
	REPORT_PORTS,
	REPORT_PROTOCOL,
	REPORT_EPOCH,
	REPORT_WORDS
};

/* Names of register arrays. p4c-dpdk appends _0 to the names in the program. */
static const char *const report_arrays[REPORT_WORDS] = {
	"report_source_high_0",	    "report_source_low_0", "report_destination_high_0",
	"report_destination_low_0", "report_ports_0",	   "report_protocol_0",
	"report_epoch_0",
};

struct engine {
	struct rte_swx_pipeline *pipeline;
	struct rte_swx_ctl_pipeline *control;
	struct rte_ring *in[PORTS], *out[PORTS]; /* frames on their way to and from the pipeline */
	struct settings settings;
	uint64_t epoch;
	uint64_t reports_taken; /* since the start */
	uint32_t passes; /* PASSES_INTERPRETED or PASSES_GENERATED */
	char name[16];
};

/* List the sizes that replace those of the program: of all rows of the sketch, and of the table. */
static void sizes_of(const struct settings *settings, struct spec_size sizes[3])
{
	sizes[0] = (struct spec_size){ "row_*", settings->columns };
	sizes[1] = (struct spec_size){ LEARNER, settings->flows };
	sizes[2] = (struct spec_size){ NULL, 0 };
}

int swx_generate(const struct settings *settings, const char *code_path)
{
	struct spec_size sizes[3];

	sizes_of(settings, sizes);
	return spec_generate(settings->spec, sizes, code_path);
}

/* --- ports --- */

/* Create a ring for frames. `way`: "in" or "out". Returns NULL after complain(). */
static struct rte_ring *create_ring(const struct engine *engine, const char *way, unsigned int port,
				    unsigned int frames)
{
	char name[32];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), "%s-%s-%u", engine->name, way, port);
	ring = rte_ring_create(name, frames, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!ring)
		complain("no memory for a ring of %u frames", frames);
	return ring;
}

/* Create the rings. Frames may leave by a port where none come in. Returns 0, or -1 after
 * complain(). */
static int create_rings(struct engine *engine)
{
	for (unsigned int i = 0; i < engine->settings.ports; i++)
		if (!(engine->in[i] = create_ring(engine, "in", i, IN_FRAMES)))
			return -1;
	for (unsigned int i = 0; i < PORTS; i++)
		if (!(engine->out[i] = create_ring(engine, "out", i, OUT_FRAMES)))
			return -1;
	return 0;
}

/* Tell the pipeline its rings. Returns 0, or a negative number after complain(). */
static int configure_ports(struct engine *engine)
{
	int status = 0;

	for (unsigned int i = 0; i < engine->settings.ports && !status; i++) {
		struct rte_swx_port_ring_reader_params params = { engine->in[i]->name, BURST };

		status = rte_swx_pipeline_port_in_config(engine->pipeline, i, "ring", &params);
	}
	/* A burst has one frame, so that a frame does not wait for others. */
	for (unsigned int i = 0; i < PORTS && !status; i++) {
		struct rte_swx_port_ring_writer_params params = { engine->out[i]->name, 1 };

		status = rte_swx_pipeline_port_out_config(engine->pipeline, i, "ring", &params);
	}
	if (status)
		complain("the pipeline's ports cannot be configured: %s", strerror(-status));
	return status;
}

/* --- the pipeline --- */

/* Build the pipeline from the program's file. Returns 0, or a negative number after complain(). */
static int build_interpreted(struct engine *engine)
{
	struct spec_size sizes[3];
	int status;

	sizes_of(&engine->settings, sizes);
	engine->passes = PASSES_INTERPRETED;
	if (rte_swx_pipeline_config(&engine->pipeline, engine->name, SOCKET_ID_ANY)) {
		complain("no memory for a pipeline");
		return -1;
	}
	if (configure_ports(engine) ||
	    spec_configure(engine->pipeline, engine->settings.spec, sizes))
		return -1;
	status = rte_swx_pipeline_build(engine->pipeline);
	if (status)
		complain("%s: DPDK cannot build the pipeline: %s", engine->settings.spec,
			 strerror(-status));
	return status;
}

/* Build the pipeline from a library of generated code, which has all but the ports. Returns 0, or a
 * negative number after complain(). */
static int build_generated(struct engine *engine)
{
	FILE *ports = tmpfile(); /* DPDK reads the ports from a file */
	int status = -1;

	if (!ports) {
		complain("a temporary file is missing");
		return -1;
	}
	engine->passes = PASSES_GENERATED;
	for (unsigned int i = 0; i < engine->settings.ports; i++)
		fprintf(ports, "port in %u ring %s bsz %u\n", i, engine->in[i]->name, BURST);
	for (unsigned int i = 0; i < PORTS; i++)
		fprintf(ports, "port out %u ring %s bsz 1\n", i, engine->out[i]->name);
	rewind(ports);
	status = rte_swx_pipeline_build_from_lib(&engine->pipeline, engine->name,
						 engine->settings.library, ports, SOCKET_ID_ANY);
	fclose(ports);
	if (status)
		complain("%s: DPDK cannot use the library (the tool sfc-heavy-hitter-loading can "
			 "load one): %s",
			 engine->settings.library, strerror(-status));
	return status;
}

/* Write to a register array of the program. The places are the enumerators above. */
static void write_setting(struct engine *engine, uint32_t setting, uint64_t value)
{
	rte_swx_ctl_pipeline_regarray_write(engine->pipeline, "settings_0", setting, value);
}

static void write_octet(struct engine *engine, uint32_t octet, uint32_t value)
{
	rte_swx_ctl_pipeline_regarray_write(engine->pipeline, "octets_0", octet, value);
}

static void write_wide(struct engine *engine, uint32_t setting, uint64_t value)
{
	rte_swx_ctl_pipeline_regarray_write(engine->pipeline, "wide_settings_0", setting, value);
}

static void swx_set_epoch(struct engine *engine, uint32_t epoch)
{
	engine->epoch = epoch;
	write_wide(engine, WIDE_EPOCH, (uint64_t)epoch << 32);
	write_wide(engine, WIDE_NEXT, (uint64_t)epoch << 32 | 1); /* a cell with one packet */
}

/* Write the settings to the registers of the program. Returns 0, or -1 after complain(). */
static int apply(struct engine *engine)
{
	const struct settings *settings = &engine->settings;

	engine->control = rte_swx_ctl_pipeline_create(engine->pipeline);
	if (!engine->control ||
	    rte_swx_ctl_pipeline_learner_timeout_set(engine->pipeline, 0, 0,
						     engine_timeout_s(settings->expiry_s))) {
		complain("%s is not the program of this tool", settings->spec);
		return -1;
	}
	write_setting(engine, SETTING_ROWS, settings->rows);
	write_setting(engine, SETTING_SEED, settings->seed);
	write_setting(engine, SETTING_ACTION, settings->on_heavy);
	write_setting(engine, SETTING_CONSERVATIVE, settings->conservative);
	write_setting(engine, SETTING_NSH_ONLY, settings->nsh_only);
	write_setting(engine, SETTING_REFLECT, settings->reflect);
	write_octet(engine, OCTET_IPV4, settings->mark_dscp << 2);
	write_octet(engine, OCTET_IPV6, settings->mark_dscp >> 2);
	write_octet(engine, OCTET_IPV6_LABEL, (settings->mark_dscp & 3) << 6);
	write_wide(engine, WIDE_THRESHOLD, settings->threshold);
	write_wide(engine, WIDE_MAC, settings->mac);
	return 0;
}

static void swx_destroy(struct engine *engine)
{
	rte_swx_ctl_pipeline_free(engine->control);
	rte_swx_pipeline_free(engine->pipeline);
	for (unsigned int i = 0; i < PORTS; i++) {
		rte_ring_free(engine->in[i]);
		rte_ring_free(engine->out[i]);
	}
	free(engine);
}

static struct engine *swx_create(const struct settings *settings, unsigned int number)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine) {
		complain("no memory for an engine");
		return NULL;
	}
	engine->settings = *settings;
	snprintf(engine->name, sizeof(engine->name), "swx-%u", number);
	if (create_rings(engine) ||
	    (settings->library ? build_generated(engine) : build_interpreted(engine)) ||
	    apply(engine)) {
		swx_destroy(engine);
		return NULL;
	}
	return engine;
}

/* --- frames --- */

static unsigned int swx_put(struct engine *engine, unsigned int port, struct rte_mbuf **frames,
			    unsigned int count)
{
	struct rte_ring *ring = engine->in[port];
	unsigned int taken = RTE_MIN(count, rte_ring_free_count(ring));

	for (unsigned int i = 0; i < taken; i++) {
		uint32_t bytes = rte_pktmbuf_pkt_len(frames[i]);
		char *info = rte_pktmbuf_prepend(frames[i], FRAME_INFO_BYTES);

		*(uint32_t *)info = rte_cpu_to_be_32(bytes << 16);
		/* The program reads these bytes before it knows that the frame ends earlier. */
		if (bytes < LOOKED_AT_BYTES)
			memset(info + FRAME_INFO_BYTES + bytes, 0, LOOKED_AT_BYTES - bytes);
	}
	return rte_ring_sp_enqueue_burst(ring, (void **)frames, taken, NULL);
}

static void swx_work(struct engine *engine)
{
	unsigned int frames = PIPELINE_THREADS;

	for (unsigned int i = 0; i < engine->settings.ports; i++)
		frames += rte_ring_count(engine->in[i]);
	rte_swx_pipeline_run(engine->pipeline, frames * engine->passes);
}

static unsigned int swx_get(struct engine *engine, unsigned int port, struct rte_mbuf **frames,
			    unsigned int count)
{
	return rte_ring_sc_dequeue_burst(engine->out[port], (void **)frames, count, NULL);
}

/* --- control --- */

/* Return a register; 0 if there is none. */
static uint64_t read_register(struct engine *engine, const char *array, uint32_t place)
{
	uint64_t value = 0;

	rte_swx_ctl_pipeline_regarray_read(engine->pipeline, array, place, &value);
	return value;
}

static uint64_t swx_counter(struct engine *engine, enum counter counter)
{
	return read_register(engine, "counters_0", counter);
}

static bool swx_report(struct engine *engine, struct report *report, uint64_t *lost)
{
	uint64_t made = read_register(engine, "report_count_0", 0), words[REPORT_WORDS];
	/* The counter in the program has 32 bits. */
	uint32_t waiting = (uint32_t)made - (uint32_t)engine->reports_taken;

	if (waiting > REPORTS) {
		*lost += waiting - REPORTS;
		engine->reports_taken += waiting - REPORTS;
	}
	if (!waiting)
		return false;
	for (unsigned int i = 0; i < REPORT_WORDS; i++)
		words[i] = read_register(engine, report_arrays[i],
					 (uint32_t)engine->reports_taken % REPORTS);
	engine->reports_taken++;
	*report = (struct report){
		.key = {
			.source_high = words[REPORT_SOURCE_HIGH],
			.source_low = words[REPORT_SOURCE_LOW],
			.destination_high = words[REPORT_DESTINATION_HIGH],
			.destination_low = words[REPORT_DESTINATION_LOW],
			.ports = (uint32_t)words[REPORT_PORTS],
			.protocol = (uint32_t)words[REPORT_PROTOCOL],
		},
		.epoch = (uint32_t)(words[REPORT_EPOCH] >> 32),
	};
	return true;
}

static uint32_t swx_cell(struct engine *engine, uint32_t row, uint32_t column)
{
	char name[16];
	uint64_t found;

	snprintf(name, sizeof(name), "row_%c_0", 'a' + row);
	found = read_register(engine, name, column);
	return found >> 32 == engine->epoch ? (uint32_t)found : 0;
}

const struct engine_type engine_swx = {
	.name = "swx",
	.create = swx_create,
	.put = swx_put,
	.work = swx_work,
	.get = swx_get,
	.set_epoch = swx_set_epoch,
	.counter = swx_counter,
	.report = swx_report,
	.cell = swx_cell,
	.destroy = swx_destroy,
};
