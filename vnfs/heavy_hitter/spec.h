/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the program of an SWX pipeline from a file, as p4c-dpdk writes it. */
#pragma once

#include <stdint.h>

#include <rte_swx_pipeline.h>

/* A size that replaces one in the file. `name` is that of a register array or learner, or its
 * beginning, followed by `*`. A name of NULL ends a list. */
struct spec_size {
	const char *name;
	uint32_t size;
};

/* Configure structures, tables and instructions of a pipeline, whose ports are configured
 * already. Returns 0, or -1 after complain(). */
int spec_configure(struct rte_swx_pipeline *pipeline, const char *path,
		   const struct spec_size *sizes);

/* Write the C of a library that runs the pipeline. Compiling it needs DPDK's internal headers.
 * Returns 0, or -1 after complain(). */
int spec_generate(const char *path, const struct spec_size *sizes, const char *code_path);
