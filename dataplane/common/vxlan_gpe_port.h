/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kernel gets VXLAN-GPE packets as well and would answer "port unreachable", unless a socket is
 * bound to that port: it is, as long as the process lives. 0, or -1 after complain(). */
int vxlan_gpe_port_open(const char *interface);
