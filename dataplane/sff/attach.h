/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches sfc-sff's programs to the interfaces of the ports. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "entries.h"
#include "sff.skel.h"

/* Attach both programs (`sff` by XDP, `output` by tc) to an interface, unless they are attached
 * already. XDP is native; with `generic` it is generic where native XDP cannot be attached. If the
 * process is killed, the tc program remains until the interface goes, and drops everything.
 * Returns 0, or -1 after complain(). */
int attach(struct sff_bpf *skeleton, const char *name, int ifindex, bool generic);

/* Detach both programs from all interfaces but these, which stay as they are. */
void attach_only(const int *ifindexes, unsigned int count);

/* Print how `sff` is attached to each interface, as a member `xdp` of a JSON object. */
void attach_report(FILE *out);
