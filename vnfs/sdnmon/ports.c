// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../common/interface.h"
#include "../common/report.h"
#include "../common/tc_filter.h"
#include "ports.h"

/* enum bpf_attach_type and flag of Linux 6.6, newer than the headers of Debian 12. */
#define TCX_INGRESS ((enum bpf_attach_type)46)
#define TCX_BEFORE (1U << 3)

#define TC_PRIORITY 0x3000

struct port {
	bool tcx;
	int ifindex;
	char path[PATH_MAX];
};

static void set_path(struct port *port, const char *folder)
{
	snprintf(port->path, sizeof(port->path), "%s/%s_%d", folder, port->tcx ? "tcx" : "clsact",
		 port->ifindex);
}

/* --- one port --- */

/* In front of others, which may take frames away. 0, or -errno. */
static int attach_tcx(const struct port *port, int program)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .flags = TCX_BEFORE);
	int link = bpf_link_create(program, port->ifindex, TCX_INGRESS, &options), error;

	if (link < 0)
		return link;
	error = bpf_obj_pin(link, port->path);
	close(link);
	return error;
}

/* The pin comes first: a process that is killed in between leaves no filter that nobody knows. */
static int attach_clsact(const struct port *port, int program)
{
	int error = bpf_obj_pin(program, port->path);

	if (!error)
		error = tc_attach(port->ifindex, TC_PRIORITY, program);
	if (error)
		unlink(port->path);
	return error;
}

static bool interface_is_gone(int link)
{
	struct bpf_link_info info = { 0 };
	__u32 bytes = sizeof(info);

	/* The number of the interface is at the same place for XDP and tcx. */
	return bpf_obj_get_info_by_fd(link, &info, &bytes) == 0 && info.xdp.ifindex == 0;
}

static int use_tcx(const struct port *port, int program)
{
	int link = bpf_obj_get(port->path), error;

	if (link < 0)
		return link;
	error = interface_is_gone(link) ? -ENODEV : bpf_link_update(link, program, NULL);
	close(link);
	return error;
}

static int use_clsact(const struct port *port, int program)
{
	int error = tc_attach(port->ifindex, TC_PRIORITY, program);

	if (error)
		return error;
	/* It keeps a program that is in use no longer alive otherwise. */
	unlink(port->path);
	return bpf_obj_pin(program, port->path);
}

/* At once, not when the kernel has time to free the link. */
static void detach(const struct port *port)
{
	int link = port->tcx ? bpf_obj_get(port->path) : -1;

	if (link >= 0) {
		bpf_link_detach(link);
		close(link);
	} else if (!port->tcx) {
		tc_detach(port->ifindex, TC_PRIORITY);
	}
	unlink(port->path);
}

/* --- all of them --- */

typedef int (*port_visitor)(const struct port *port, void *context);

static int for_each(const char *folder, port_visitor visit, void *context)
{
	DIR *files = opendir(folder);
	const struct dirent *file;
	int error = 0;

	if (!files)
		return 0;
	while (!error && (file = readdir(files))) {
		struct port port = { .tcx = strncmp(file->d_name, "tcx_", 4) == 0 };

		if (sscanf(file->d_name, port.tcx ? "tcx_%d" : "clsact_%d", &port.ifindex) != 1)
			continue;
		set_path(&port, folder);
		error = visit(&port, context);
	}
	closedir(files);
	return error;
}

static int use_one(const struct port *port, void *context)
{
	int program = *(int *)context;
	int error = port->tcx ? use_tcx(port, program) : use_clsact(port, program);

	if (!error)
		return 0;
	if (error == -ENODEV || error == -ENOLINK) {
		unlink(port->path);
		return 0;
	}
	complain("cannot attach to interface %d: %s", port->ifindex, strerror(-error));
	return -1;
}

int ports_use(const char *folder, int program)
{
	return for_each(folder, use_one, &program);
}

static int detach_one(const struct port *port, void *context)
{
	(void)context;
	detach(port);
	return 0;
}

struct interfaces {
	int *numbers;
	unsigned int count, most;
};

static int keep_one(const struct port *port, void *context)
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

	for_each(folder, keep_one, &kept);
}

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

struct printing {
	FILE *out;
	const char *separator;
};

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
	fprintf(printing->out, ", \"attach\": \"%s\"}", port->tcx ? "tcx" : "clsact");
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

/* Is there a port at this interface? */
static bool find(const char *folder, int ifindex, struct port *port)
{
	port->ifindex = ifindex;
	for (int tcx = 0; tcx <= 1; tcx++) {
		port->tcx = tcx;
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

int ports_attach(const char *folder, const char *name, int program, enum attachment how)
{
	struct interface interface;
	struct port port;
	int error = -EINVAL;

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
	if (how != ATTACH_CLSACT) {
		port.tcx = true;
		set_path(&port, folder);
		error = attach_tcx(&port, program);
	}
	/* A kernel without tcx refuses its number. */
	if (how == ATTACH_CLSACT || (how == ATTACH_AUTO && error == -EINVAL)) {
		port.tcx = false;
		set_path(&port, folder);
		error = attach_clsact(&port, program);
	}
	if (error)
		complain("cannot attach to %s: %s", name, strerror(-error));
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
