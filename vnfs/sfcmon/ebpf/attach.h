/* SPDX-License-Identifier: Apache-2.0 */
/* Where SFCMon sees packets. Each place has a program of its own, the only one that is loaded. */
#pragma once

#include "../../common/interface.h"
#include "engine.h"
#include "ebpf/sfcmon.skel.h"
#include "places.h"

/* Before the programs are loaded: choose one. 0, or -1 after complain(). */
int choose_function(struct sfcmon_bpf *skeleton, const struct interface *interface);
int choose_sff(struct sfcmon_bpf *skeleton, const struct interface *interface);
int choose_ports(struct sfcmon_bpf *skeleton, const struct place *places, unsigned int count);

/* After they are loaded. 0, or -1 after complain(). */
int attach_chosen(void);

/* No packet is seen any more that comes after this. Without it, the kernel detaches the program when the
 * process ends, but not from ports if it is killed. */
void detach_chosen(void);
