/* SPDX-License-Identifier: Apache-2.0 */
/* SFCMon as a function, and at the ports of an SFF. */
#pragma once

#include <bpf/libbpf.h>

#include "../../../dataplane/common/interface.h"
#include "engine.h"
#include "places.h"

/* Open the program. NULL after complain(). A function may have another monitor than the sketches. */
struct bpf_object *open_function(const struct interface *interface, enum sfcmon_monitor monitor);
struct bpf_object *open_ports(const struct place *places, unsigned int count);

/* Attach it, when it is loaded. 0, or -1 after complain(). */
int attach_function(void);
int attach_ports(void);

/* No packet is seen that comes after this. If the process is killed, filters of ports stay until their
 * interfaces go. */
void detach_function(void);
void detach_ports(void);
