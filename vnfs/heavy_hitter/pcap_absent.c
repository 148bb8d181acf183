// SPDX-License-Identifier: Apache-2.0
/* Stands in for libpcap, which DPDK's ports to and from captures need: its static library needs
 * D-Bus and RDMA. No such port is ever made here, because dataplane/capture reads captures. */
#include <stddef.h>

#include <pcap/pcap.h>

pcap_t *pcap_open_offline(const char *name, char *error)
{
	(void)name, (void)error;
	return NULL;
}

pcap_t *pcap_open_dead(int link_type, int captured)
{
	(void)link_type, (void)captured;
	return NULL;
}

const u_char *pcap_next(pcap_t *capture, struct pcap_pkthdr *header)
{
	(void)capture, (void)header;
	return NULL;
}

void pcap_close(pcap_t *capture)
{
	(void)capture;
}

pcap_dumper_t *pcap_dump_open(pcap_t *capture, const char *name)
{
	(void)capture, (void)name;
	return NULL;
}

void pcap_dump(u_char *dumper, const struct pcap_pkthdr *header, const u_char *data)
{
	(void)dumper, (void)header, (void)data;
}

int pcap_dump_flush(pcap_dumper_t *dumper)
{
	(void)dumper;
	return 0;
}

void pcap_dump_close(pcap_dumper_t *dumper)
{
	(void)dumper;
}
