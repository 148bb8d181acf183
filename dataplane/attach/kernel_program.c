// SPDX-License-Identifier: Apache-2.0
/* Finds programs and maps that the kernel has loaded. */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "kernel_program.h"

int kernel_program_open(__u32 id, struct kernel_program *program)
{
	struct bpf_prog_info facts = {
		.nr_map_ids = KERNEL_PROGRAM_MAPS,
		.map_ids = (__u64)(unsigned long)program->maps,
	};
	__u32 bytes = sizeof(facts);
	int error;

	program->fd = bpf_prog_get_fd_by_id(id);
	if (program->fd < 0)
		return program->fd;
	error = bpf_obj_get_info_by_fd(program->fd, &facts, &bytes);
	if (error) {
		close(program->fd);
		return error;
	}
	program->id = id;
	program->type = facts.type;
	memcpy(program->name, facts.name, sizeof(program->name));
	program->map_count =
		facts.nr_map_ids < KERNEL_PROGRAM_MAPS ? facts.nr_map_ids : KERNEL_PROGRAM_MAPS;
	return 0;
}

/* Compare a map's name. In front of the name of a section's map, libbpf puts the name of the
 * object: `.bss` becomes `OBJECT.bss`. */
static bool has_name(const struct bpf_map_info *facts, const char *name)
{
	const char *section = strchr(facts->name, '.');

	return strcmp(section ? section : facts->name, name) == 0;
}

int kernel_program_map(const struct kernel_program *program, const char *name,
		       struct bpf_map_info *facts)
{
	for (unsigned int i = 0; i < program->map_count; i++) {
		__u32 bytes = sizeof(*facts);
		int fd = bpf_map_get_fd_by_id(program->maps[i]);

		if (fd < 0)
			continue;
		memset(facts, 0, sizeof(*facts));
		if (bpf_obj_get_info_by_fd(fd, facts, &bytes) == 0 && has_name(facts, name))
			return fd;
		close(fd);
	}
	return -1;
}
