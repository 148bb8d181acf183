/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of a switch at whose ingress packets are counted. A folder of a BPF file system says
 * which ones. It holds links for ports with tcx, the program for ports with clsact, and for
 * ports with XDP the map of the programs that come next, by the number of the interface.
 * Functions return 0, or -1 after complain(). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "../attach/hook.h"
#include "program.h"

/* Attach to a port. HOOK_AUTO means XDP if the interface has an XDP program, which may take
 * frames before tc; else tcx if the kernel has it, else clsact. */
int ports_attach(const char *folder, const char *interface, const struct program *program,
		 enum hook how);
int ports_detach(const char *folder, const char *interface);

/* Have all ports use these programs, which a reset has made. Ports whose interfaces are gone are
 * forgotten. */
int ports_use(const char *folder, const struct program *program);

/* Is there a port at this interface? */
bool ports_have(const char *folder, int ifindex);

/* Detach from all ports but those at these interfaces. */
void ports_keep(const char *folder, const int *ifindexes, unsigned int count);

/* List the numbers of the ports' interfaces, up to `most`. Returns how many are listed. */
unsigned int ports_list(const char *folder, int *ifindexes, unsigned int most);

/* Detach from all ports, and remove the folder. */
void ports_detach_all(const char *folder);

/* Print the ports as an array of JSON objects. */
void ports_print(const char *folder, FILE *out);
