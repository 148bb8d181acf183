/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP port of VXLAN-GPE, kept from the kernel's answers. */
#pragma once

/* Bind a socket to the port of VXLAN-GPE, for as long as the process lives. The kernel gets
 * these packets as well, and would otherwise answer "port unreachable". Returns 0, or -1 after
 * complain(). */
int vxlan_gpe_port_open(const char *interface);
