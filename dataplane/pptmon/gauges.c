// SPDX-License-Identifier: Apache-2.0
/*
 * CPU use is read from /proc/stat and not from a cgroup: a VNF that forwards in the kernel works in
 * softirqs, which are not charged to its cgroup.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/netlink.h"
#include "../common/report.h"
#include "gauges.h"
#include "qdisc.h"

#define BACKLOG_UNIT_BYTES 64
#define CPU_EVERY 4 /* refreshes: /proc/stat counts in hundredths of a second */
#define READINGS 5 /* the oldest of them is a second old */
#define STAT_BYTES 65536

struct reading {
	unsigned long long busy;
	unsigned long long total;
};

static int netlink = -1;
static int proc_stat = -1;
static int queue_ifindex;
static cpu_set_t own_cpus;
static struct reading readings[READINGS];
static unsigned int reading_count;
static unsigned int refreshes;

/* user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); stolen time was neither used
 * nor free. */
static void add_cpu(struct reading *sum, const char *line)
{
	unsigned long long time[7];
	unsigned int cpu;

	if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu", &cpu, &time[0], &time[1],
		   &time[2], &time[3], &time[4], &time[5], &time[6]) != 8 ||
	    cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &own_cpus))
		return;
	for (int i = 0; i < 7; i++) {
		sum->total += time[i];
		if (i != 3 && i != 4)
			sum->busy += time[i];
	}
}

static struct reading read_cpus(void)
{
	static char text[STAT_BYTES];
	struct reading sum = { 0 };
	ssize_t bytes = pread(proc_stat, text, sizeof(text) - 1, 0);
	char *rest = text;
	char *line;

	text[bytes > 0 ? bytes : 0] = '\0';
	while ((line = strsep(&rest, "\n")) && strncmp(line, "cpu", 3) == 0)
		add_cpu(&sum, line);
	return sum;
}

static __u32 cpu_use(void)
{
	struct reading now = read_cpus();
	struct reading oldest = readings[reading_count < READINGS ? 0 : reading_count % READINGS];
	unsigned long long total = now.total - oldest.total;

	readings[reading_count++ % READINGS] = now;
	if (reading_count == 1 || now.total <= oldest.total || now.busy < oldest.busy)
		return 0;
	return (__u32)((now.busy - oldest.busy) * 10000 / total);
}

int gauges_open(int ifindex)
{
	queue_ifindex = ifindex;
	if (sched_getaffinity(0, sizeof(own_cpus), &own_cpus))
		memset(&own_cpus, 0xff, sizeof(own_cpus));
	netlink = netlink_open();
	proc_stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	if (netlink < 0 || proc_stat < 0) {
		complain("cannot measure queue and CPUs: %s",
			 strerror(netlink < 0 ? -netlink : errno));
		return -1;
	}
	return 0;
}

void gauges_refresh(struct ppt_gauges *gauges)
{
	struct qdisc qdisc;

	gauges->alive_ns = clock_ns(CLOCK_MONOTONIC);
	if (qdisc_at(netlink, queue_ifindex, TC_H_ROOT, &qdisc) == 0)
		gauges->backlog =
			(qdisc.backlog_bytes + BACKLOG_UNIT_BYTES - 1) / BACKLOG_UNIT_BYTES;
	if (refreshes++ % CPU_EVERY == 0)
		gauges->cpu = cpu_use();
}

void gauges_close(void)
{
	if (netlink >= 0)
		close(netlink);
	if (proc_stat >= 0)
		close(proc_stat);
	netlink = proc_stat = -1;
}
