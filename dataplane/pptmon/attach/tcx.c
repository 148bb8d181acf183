// SPDX-License-Identifier: Apache-2.0
/* tcx (Linux 6.6): a link keeps the program attached for as long as this process lives. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../../common/report.h"
#include "attach.h"

/* enum bpf_attach_type of Linux 6.6, newer than the headers of Debian 12. */
#define TCX_INGRESS ((enum bpf_attach_type)46)
#define TCX_EGRESS ((enum bpf_attach_type)47)

static int links[PROGRAMS] = { -1, -1 };

int load_probe(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "probe", "Dual MIT/GPL", code, 2, NULL);

	return fd < 0 ? -errno : fd;
}

/* Only a kernel that knows the hook looks for the interface (ENODEV). */
static bool works(void)
{
	int program = load_probe();
	int link;

	if (program < 0)
		return false;
	link = bpf_link_create(program, INT_MAX, TCX_INGRESS, NULL);
	close(program);
	if (link >= 0)
		close(link);
	return link >= 0 || link == -ENODEV;
}

static int attach(enum program program, const struct place *place, int program_fd)
{
	int link = bpf_link_create(program_fd, place->interface->index,
				   place->direction == AT_INGRESS ? TCX_INGRESS : TCX_EGRESS, NULL);

	if (link < 0) {
		complain("cannot attach to %s by tcx: %s", place->interface->name, strerror(-link));
		return -1;
	}
	links[program] = link;
	return 0;
}

static void detach(enum program program)
{
	if (links[program] >= 0)
		close(links[program]);
	links[program] = -1;
}

const struct hook tcx_hook = {
	.name = "tcx",
	.works = works,
	.attach = attach,
	.detach = detach,
};
