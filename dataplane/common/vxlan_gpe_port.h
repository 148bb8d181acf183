/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP port of VXLAN-GPE, kept from the kernel's answers. */
#pragma once

/* Bind a socket to the port of VXLAN-GPE on an interface, for as long as the process lives. The
 * tool takes these packets by other means, but the kernel gets them as well, and would otherwise
 * answer "port unreachable". Returns 0, or -1 after complain(). */
int vxlan_gpe_port_open(const char *interface);
