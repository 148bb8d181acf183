// SPDX-License-Identifier: Apache-2.0
/* The program of sfc-sff with SFCMon between classifier and SFF (Fig. 1 of the paper). It uses the
 * maps of the sfc-sff that runs. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "update.bpf.h"

#define SFF_SHOW(ctx, path) observe(ctx, path)

#include "../../../dataplane/sff/sff.bpf.c"
