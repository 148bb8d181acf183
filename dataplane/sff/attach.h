/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches sfc-sff's programs to the interfaces of the ports. */
#pragma once

#include "entries.h"
#include "sff.skel.h"

/* Attach both programs (`sff` by native XDP, `output` by tc) to an interface, unless they are
 * attached already. If the process is killed, the tc program remains until the interface goes, and
 * drops everything. Returns 0, or -1 after complain(). */
int attach(struct sff_bpf *skeleton, const char *name, int ifindex);

/* Detach both programs from all interfaces but these, which stay as they are. */
void attach_only(const int *ifindexes, unsigned int count);
