/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that the kernel has loaded, and their maps. */
#pragma once

#include <linux/bpf.h>

#define KERNEL_PROGRAM_MAPS 64

/* A program that the kernel has loaded, whoever loaded it. */
struct kernel_program {
	int fd;
	__u32 id, type;
	char name[BPF_OBJ_NAME_LEN];
	__u32 maps[KERNEL_PROGRAM_MAPS]; /* ids */
	unsigned int map_count;
};

/* Open a program by its id. The caller closes its descriptor. Returns 0, or -errno. */
int kernel_program_open(__u32 id, struct kernel_program *program);

/* Open the map of this name, and let `facts` have what the kernel says about it. A name that
 * begins with a dot is that of a section, such as `.bss`. Returns the descriptor, or -1 if the
 * program has no such map. */
int kernel_program_map(const struct kernel_program *program, const char *name,
		       struct bpf_map_info *facts);
