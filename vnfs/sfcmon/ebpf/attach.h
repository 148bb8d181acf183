/* SPDX-License-Identifier: Apache-2.0 */
/* SFCMon's programs, as a function and at the ports of an SFF. */
#pragma once

#include <bpf/libbpf.h>

#include "../../../dataplane/common/interface.h"
#include "engine.h"
#include "places.h"

/* Open the program. A function may have another monitor than the sketches. Returns NULL after
 * complain(). */
struct bpf_object *open_function(const struct interface *interface, enum sfcmon_monitor monitor);
struct bpf_object *open_ports(const struct place *places, unsigned int count);

/* Attach the program, once it is loaded. Returns 0, or -1 after complain(). */
int attach_function(void);
int attach_ports(void);

/* Detach the program: no later packet is seen. If the process is killed, filters of ports stay
 * until their interfaces go. */
void detach_function(void);
void detach_ports(void);
