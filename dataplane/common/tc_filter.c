// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <bpf/libbpf.h>

#include "tc_filter.h"

#define HANDLE 1

int tc_attach(int ifindex, unsigned int priority, int program)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = program, .handle = HANDLE,
		    .priority = priority, .flags = BPF_TC_F_REPLACE);
	int error = bpf_tc_hook_create(&hook);

	return error && error != -EEXIST ? error : bpf_tc_attach(&hook, &options);
}

void tc_detach(int ifindex, unsigned int priority)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, options, .handle = HANDLE, .priority = priority);

	bpf_tc_detach(&hook, &options);
}
