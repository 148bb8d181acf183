/* SPDX-License-Identifier: Apache-2.0 */
/* Where packets are counted: ingress of the ports of a switch. A folder of a BPF file system says which
 * ones: it holds their links of tcx, for ports with clsact the program, and for those with XDP the map of
 * the programs that come next, by the number of the interface. Functions return 0, or -1 after complain(). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "../attach/hook.h"
#include "program.h"

/* HOOK_AUTO: XDP where a program is that may take frames before tc, else tcx where the kernel has it, else
 * clsact. */
int ports_attach(const char *folder, const char *interface, const struct program *program,
		 enum hook how);
int ports_detach(const char *folder, const char *interface);

/* Have all ports use these programs. Interfaces that are gone are forgotten. */
int ports_use(const char *folder, const struct program *program);

bool ports_have(const char *folder, int ifindex);

/* Detach ports at other interfaces than these. */
void ports_keep(const char *folder, const int *ifindexes, unsigned int count);

/* Numbers of up to `most` interfaces. How many they are. */
unsigned int ports_list(const char *folder, int *ifindexes, unsigned int most);

void ports_detach_all(const char *folder);

/* An array of objects. */
void ports_print(const char *folder, FILE *out);
