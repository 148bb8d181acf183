/* SPDX-License-Identifier: Apache-2.0 */
/* A BPF program at tc ingress of an interface. Not by tcx, each of whose links waits for a grace period
 * of RCU: some 10 ms an interface. */
#pragma once

/* In the place of the filter with this priority, which a process that was killed may have left. If this
 * one is killed, its filter stays until the interface goes. 0, or a negative error number. */
int tc_attach(int ifindex, unsigned int priority, int program);

/* clsact itself stays: others may use it. */
void tc_detach(int ifindex, unsigned int priority);
