/* SPDX-License-Identifier: Apache-2.0 */
/* SFCMon in an sfc-sff that runs: its program is replaced by one that monitors, and later put back. It
 * keeps its maps, and no packet is lost. If the process is killed, the other program goes on, and the next
 * one that monitors takes its place. */
#pragma once

#include <bpf/libbpf.h>

#include "../../../dataplane/common/interface.h"

/* Open the program that monitors, for the sfc-sff at this interface. NULL after complain(). */
struct bpf_object *open_sff(const struct interface *port);

/* Use it at all interfaces of the sfc-sff, when it is loaded. 0, or -1 after complain(). */
int attach_sff(void);
void detach_sff(void);
