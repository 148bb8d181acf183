// SPDX-License-Identifier: Apache-2.0
/* Attaches the XDP program that passes every frame. */
#include <errno.h>

#include <bpf/libbpf.h>

#include "../attach/xdp.h"
#include "../common/libbpf_log.h"
#include "../common/report.h"
#include "engine.h"
#include "pass.skel.h"

int attach_pass(char *const *names, unsigned int count)
{
	struct pass_bpf *skeleton = pass_bpf__open_and_load();
	int error = 0;

	if (!skeleton) {
		libbpf_complain_of_load("the XDP program", errno);
		return -1;
	}
	for (unsigned int i = 0; i < count && !error; i++) {
		int index = (int)if_nametoindex(names[i]);

		error = index ? xdp_attach(index, bpf_program__fd(skeleton->progs.pass)) : -ENODEV;
		if (error == -EBUSY) /* it carries a program, which does as well */
			error = 0;
		else if (error)
			complain("cannot attach to %s: %s", names[i],
				 xdp_attach_error(index, error));
	}
	pass_bpf__destroy(skeleton); /* the interfaces keep the program */
	return error ? -1 : 0;
}
