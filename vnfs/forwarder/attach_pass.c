// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "engine.h"
#include "pass.skel.h"
#include "report.h"

int attach_pass(char *const *names, unsigned int count)
{
	struct pass_bpf *skeleton = pass_bpf__open_and_load();
	int status = -1;

	if (!skeleton)
		return -1;
	for (unsigned int i = 0; i < count; i++) {
		unsigned int index = if_nametoindex(names[i]);
		int error;

		if (index == 0) {
			complain("there is no interface %s here", names[i]);
			goto cleanup;
		}
		/* By netlink and not by a link, so that it stays when we end. */
		error = bpf_xdp_attach((int)index, bpf_program__fd(skeleton->progs.pass),
				       XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST, NULL);
		if (error && error != -EBUSY) {
			complain("cannot attach to %s: %s", names[i], strerror(-error));
			goto cleanup;
		}
	}
	status = 0;
cleanup:
	pass_bpf__destroy(skeleton);
	return status;
}
