/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/bpf.h>

#define KERNEL_PROGRAM_MAPS 64

/* A program that the kernel has loaded, whoever did it. */
struct kernel_program {
	int fd;
	__u32 id, type;
	char name[BPF_OBJ_NAME_LEN];
	__u32 maps[KERNEL_PROGRAM_MAPS]; /* ids */
	unsigned int map_count;
};

/* 0, or -errno. The descriptor is to be closed. */
int kernel_program_open(__u32 id, struct kernel_program *program);

/* Open the map of this name, and take what the kernel says of it. A name that begins with a dot is that
 * of a section, such as `.bss`. Descriptor, or -1: the program has none. */
int kernel_program_map(const struct kernel_program *program, const char *name,
		       struct bpf_map_info *facts);
