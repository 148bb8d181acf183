// SPDX-License-Identifier: Apache-2.0
/* Attaches SDN-Mon's programs to ports, and pins what keeps them there. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../attach/clsact.h"
#include "../attach/link.h"
#include "../attach/xdp.h"
#include "../common/interface.h"
#include "../common/report.h"
#include "ports.h"
#include "xdp_port.h"

#define TC_PRIORITY 0x3000 /* of the filter in clsact */

struct port {
	enum hook hook;
	int ifindex;
	char path[PATH_MAX]; /* of what is pinned for it: FOLDER/HOOK_IFINDEX */
};

static void set_path(struct port *port, const char *folder)
{
	snprintf(port->path, sizeof(port->path), "%s/%s_%d", folder, hook_names[port->hook],
		 port->ifindex);
}

/* --- one port --- */

/* Attach by tcx, in front of other programs, which may take frames away, and pin the link. Returns
 * 0, or -errno. */
static int attach_tcx(const struct port *port, int program)
{
	int link = tcx_link(port->ifindex, AT_INGRESS, program, TCX_FIRST), error;

	if (link < 0)
		return link;
	error = bpf_obj_pin(link, port->path);
	close(link);
	return error;
}

/* Attach by XDP or clsact, or replace the program of an earlier table. Returns 0, or -errno. */
static int put_program(const struct port *port, const struct program *program)
{
	return port->hook == HOOK_XDP ? xdp_put_in_front(port->ifindex, program)
				      : tool_filter_attach(port->ifindex, AT_INGRESS, TC_PRIORITY,
							   program->arrive);
}

/* Attach by XDP or clsact, which need no link. Pinned is instead the map of the programs that come
 * next (XDP), or the program (clsact). The pin comes first, so that a process that is killed in
 * between leaves no program that nobody knows. Returns 0, or -errno. */
static int attach_pinned(const struct port *port, const struct program *program)
{
	int pinned = port->hook == HOOK_XDP ? program->forwarders : program->arrive;
	int error = bpf_obj_pin(pinned, port->path);

	if (!error)
		error = put_program(port, program);
	if (error)
		unlink(port->path);
	return error;
}

/* Has the interface of a link been deleted? The kernel then gives 0 as its number. */
static bool interface_is_gone(int link)
{
	struct bpf_link_info info = { 0 };
	__u32 bytes = sizeof(info);

	/* For XDP and tcx, the number of the interface is at the same place. */
	return bpf_obj_get_info_by_fd(link, &info, &bytes) == 0 && info.xdp.ifindex == 0;
}

/* Have a port use another program; use_clsact() and use_xdp() are alike. Returns 0, or -errno;
 * -ENODEV: its interface is gone. */
static int use_tcx(const struct port *port, int program)
{
	int link = bpf_obj_get(port->path), error;

	if (link < 0)
		return link;
	error = interface_is_gone(link) ? -ENODEV : bpf_link_update(link, program, NULL);
	close(link);
	return error;
}

static int use_clsact(const struct port *port, const struct program *program)
{
	int error = put_program(port, program);

	if (error)
		return error;
	/* The old pin would keep alive a program that is not in use any more. */
	unlink(port->path);
	return bpf_obj_pin(program->arrive, port->path);
}

static int use_xdp(const struct port *port, const struct program *program)
{
	int error = put_program(port, program);

	if (error != -ENOENT)
		return error;
	/* No XDP program is there any more, or the interface is gone. */
	xdp_take_away(port->ifindex, program->forwarders);
	return -ENODEV;
}

/* Detach from a port, and remove what is pinned for it. */
static void detach(const struct port *port)
{
	int pinned = bpf_obj_get(port->path); /* link, program or map, by the hook */

	if (port->hook == HOOK_CLSACT)
		tool_filter_detach(port->ifindex, AT_INGRESS, TC_PRIORITY);
	else if (port->hook == HOOK_TCX && pinned >= 0)
		bpf_link_detach(pinned);
	else if (pinned >= 0)
		xdp_take_away(port->ifindex, pinned);
	if (pinned >= 0)
		close(pinned);
	unlink(port->path);
}

/* --- all of them --- */

/* Read a port from the name of its file: HOOK_IFINDEX. Returns false for other files. */
static bool read_name(const char *name, struct port *port)
{
	const char *number = strchr(name, '_');

	for (port->hook = HOOK_TCX; number && port->hook <= HOOK_XDP; port->hook++)
		if (strncmp(name, hook_names[port->hook], (size_t)(number - name)) == 0)
			return sscanf(number + 1, "%d", &port->ifindex) == 1;
	return false;
}

/* Visits a port. A result other than 0 ends the visits. */
typedef int (*port_visitor)(const struct port *port, void *context);

/* Visit all ports. Returns what the last visitor returned; 0 if there are no ports. */
static int for_each(const char *folder, port_visitor visit, void *context)
{
	DIR *files = opendir(folder);
	const struct dirent *file;
	int error = 0;

	if (!files)
		return 0;
	while (!error && (file = readdir(files))) {
		struct port port;

		if (!read_name(file->d_name, &port))
			continue;
		set_path(&port, folder);
		error = visit(&port, context);
	}
	closedir(files);
	return error;
}

/* Have a port use these programs (port_visitor). If its interface is gone, forget it. */
static int use_one(const struct port *port, void *context)
{
	const struct program *program = context;
	int error = port->hook == HOOK_TCX   ? use_tcx(port, program->arrive)
		    : port->hook == HOOK_XDP ? use_xdp(port, program)
					     : use_clsact(port, program);

	if (!error)
		return 0;
	if (error == -ENODEV || error == -ENOLINK) {
		unlink(port->path);
		return 0;
	}
	complain("cannot attach to interface %d: %s", port->ifindex, strerror(-error));
	return -1;
}

int ports_use(const char *folder, const struct program *program)
{
	return for_each(folder, use_one, (void *)program);
}

static int detach_one(const struct port *port, void *context)
{
	(void)context;
	detach(port);
	return 0;
}

/* A list of the numbers of interfaces, with room for `most`. */
struct interfaces {
	int *numbers;
	unsigned int count, most;
};

/* Detach a port, unless it is at one of the kept interfaces. */
static int detach_unless_kept(const struct port *port, void *context)
{
	const struct interfaces *kept = context;

	for (unsigned int i = 0; i < kept->count; i++)
		if (kept->numbers[i] == port->ifindex)
			return 0;
	detach(port);
	return 0;
}

void ports_keep(const char *folder, const int *ifindexes, unsigned int count)
{
	struct interfaces kept = { (int *)ifindexes, count, count };

	for_each(folder, detach_unless_kept, &kept);
}

/* Put a port's interface on the list, if there is room (port_visitor). */
static int list_one(const struct port *port, void *context)
{
	struct interfaces *list = context;

	if (list->count < list->most)
		list->numbers[list->count++] = port->ifindex;
	return 0;
}

unsigned int ports_list(const char *folder, int *ifindexes, unsigned int most)
{
	struct interfaces list = { ifindexes, 0, most };

	for_each(folder, list_one, &list);
	return list.count;
}

void ports_detach_all(const char *folder)
{
	for_each(folder, detach_one, NULL);
	rmdir(folder);
}

/* Where print_one() prints, and what between two ports. */
struct printing {
	FILE *out;
	const char *separator;
};

/* Print a port (port_visitor). Its name is null if its interface is gone. */
static int print_one(const struct port *port, void *context)
{
	struct printing *printing = context;
	char name[IF_NAMESIZE];

	fprintf(printing->out, "%s{\"ifindex\": %d, \"name\": ", printing->separator,
		port->ifindex);
	if (if_indextoname((unsigned int)port->ifindex, name))
		json_string(printing->out, name);
	else
		fputs("null", printing->out);
	fprintf(printing->out, ", \"attach\": \"%s\"}", hook_names[port->hook]);
	printing->separator = ", ";
	return 0;
}

void ports_print(const char *folder, FILE *out)
{
	struct printing printing = { out, "" };

	fputc('[', out);
	for_each(folder, print_one, &printing);
	fputc(']', out);
}

/* Find the port at this interface. Returns whether there is one; `port` describes it then. */
static bool find(const char *folder, int ifindex, struct port *port)
{
	port->ifindex = ifindex;
	for (port->hook = HOOK_TCX; port->hook <= HOOK_XDP; port->hook++) {
		set_path(port, folder);
		if (access(port->path, F_OK) == 0)
			return true;
	}
	return false;
}

bool ports_have(const char *folder, int ifindex)
{
	struct port port;

	return find(folder, ifindex, &port);
}

/* Does a port keep its XDP program at the place that this interface would need? */
static int has_place_of(const struct port *port, void *context)
{
	const struct port *other = context;

	return port->hook == HOOK_XDP &&
	       SDNMON_XDP_PLACE(port->ifindex) == SDNMON_XDP_PLACE(other->ifindex);
}

/* Attach by this hook. Returns 0, or -errno; -EBUSY: with XDP, another port has the place that this
 * interface needs. */
static int attach_by(struct port *port, const char *folder, const struct program *program,
		     enum hook hook)
{
	if (hook == HOOK_XDP && for_each(folder, has_place_of, port))
		return -EBUSY;
	port->hook = hook;
	set_path(port, folder);
	return hook == HOOK_TCX ? attach_tcx(port, program->arrive) : attach_pinned(port, program);
}

/* Attach by a hook, or by the best one for HOOK_AUTO. Returns 0, or -errno. */
static int attach_port(struct port *port, const char *folder, const struct program *program,
		       enum hook how)
{
	if (how != HOOK_AUTO)
		return attach_by(port, folder, program, how);
	if (has_xdp(port->ifindex))
		return attach_by(port, folder, program, HOOK_XDP);
	return attach_by(port, folder, program, tcx_works() ? HOOK_TCX : HOOK_CLSACT);
}

/* Say why attaching failed with `error`, an -errno. */
static const char *attach_error(const struct port *port, int error)
{
	if (port->hook == HOOK_XDP && error == -ENOENT)
		return "there is no XDP program that takes its frames";
	if (port->hook == HOOK_XDP && error == -EINVAL)
		return "its XDP program cannot be called by another one";
	return strerror(-error);
}

int ports_attach(const char *folder, const char *name, const struct program *program, enum hook how)
{
	struct interface interface;
	struct port port;
	int error;

	if (find_interface(name, &interface))
		return -1;
	if (find(folder, interface.index, &port)) {
		complain("%s is a port already", name);
		return -1;
	}
	if (mkdir(folder, 0700) && errno != EEXIST) {
		complain("cannot make %s: %s", folder, strerror(errno));
		return -1;
	}
	error = attach_port(&port, folder, program, how);
	if (error)
		complain("cannot attach to %s: %s", name, attach_error(&port, error));
	return error ? -1 : 0;
}

int ports_detach(const char *folder, const char *name)
{
	struct port port;

	if (!find(folder, (int)if_nametoindex(name), &port)) {
		complain("%s is no port", name);
		return -1;
	}
	detach(&port);
	return 0;
}
