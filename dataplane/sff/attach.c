// SPDX-License-Identifier: Apache-2.0
/* Attaches sfc-sff's programs to interfaces, by XDP and tc. */
#include <net/if.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "../attach/clsact.h"
#include "../attach/link.h"
#include "../attach/xdp.h"
#include "../common/report.h"
#include "attach.h"
#include "entries.h"

#define FILTER_PRIORITY 0x8000 /* after filters of others, because no packet gets past `output` */

/* Interfaces that the programs are attached to: while tables change, those of both the old and the
 * new ones, and the tap's. */
static struct place {
	int ifindex; /* 0: free */
	int link; /* descriptor of the link by which `sff` is attached */
	bool generic; /* by generic XDP */
	char name[IF_NAMESIZE];
} places[2 * SFF_PORTS];

/* Return the place of an interface (0: the first free place), or NULL if there is none. */
static struct place *find(int ifindex)
{
	for (unsigned int i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i].ifindex == ifindex)
			return &places[i];
	return NULL;
}

int attach(struct sff_bpf *skeleton, const char *name, int ifindex, bool generic)
{
	int program = bpf_program__fd(skeleton->progs.sff), error;
	struct place *place = find(ifindex);

	if (place)
		return 0;
	place = find(0);
	place->link = error = xdp_link(ifindex, program, XDP_FLAGS_DRV_MODE);
	/* Drivers have many reasons to refuse, and a number for each. If another program is in the
	 * way, generic XDP fails too. */
	place->generic = error < 0 && generic;
	if (place->generic)
		place->link = xdp_link(ifindex, program, XDP_FLAGS_SKB_MODE);
	if (place->link < 0) {
		complain("cannot attach to %s: %s", name, xdp_attach_error(ifindex, error));
		return -1;
	}
	error = tool_filter_attach(ifindex, AT_INGRESS, FILTER_PRIORITY,
				   bpf_program__fd(skeleton->progs.output));
	if (error) {
		complain("cannot attach to tc on %s: %s", name, strerror(-error));
		link_detach(place->link);
		return -1;
	}
	place->ifindex = ifindex;
	snprintf(place->name, sizeof(place->name), "%s", name);
	return 0;
}

void attach_only(const int *ifindexes, unsigned int count)
{
	for (unsigned int i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct place *place = &places[i];
		unsigned int at = 0; /* `count`: the interface is not in the list */

		while (at < count && ifindexes[at] != place->ifindex)
			at++;
		if (!place->ifindex || at < count)
			continue;
		link_detach(place->link);
		tool_filter_detach(place->ifindex, AT_INGRESS, FILTER_PRIORITY);
		place->ifindex = 0;
	}
}

void attach_report(FILE *out)
{
	const char *separator = "";

	fputs("\"xdp\": {", out);
	for (unsigned int i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (!places[i].ifindex)
			continue;
		fputs(separator, out);
		json_string(out, places[i].name);
		fputs(places[i].generic ? ": \"generic\"" : ": \"native\"", out);
		separator = ", ";
	}
	fputs("}", out);
}
