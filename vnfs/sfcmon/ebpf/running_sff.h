/* SPDX-License-Identifier: Apache-2.0 */
/* SFCMon in a running sfc-sff. The program of the sfc-sff is replaced by one that monitors, and
 * put back later. The sfc-sff keeps its maps, and no packet is lost. If the process is killed,
 * the monitoring program goes on, and the next one that monitors takes its place. */
#pragma once

#include <bpf/libbpf.h>

#include "../../../dataplane/common/interface.h"

/* Open the program that monitors, for the sfc-sff at this interface. Returns NULL after
 * complain(). */
struct bpf_object *open_sff(const struct interface *port);

/* Use the program at all interfaces of the sfc-sff, once it is loaded. Returns 0, or -1 after
 * complain(). */
int attach_sff(void);
void detach_sff(void);
