// SPDX-License-Identifier: Apache-2.0
/* member TRACE MS SAMPLED COLUMNS: the flows of a capture of UDP over IPv4 over Ethernet, again and
 * again for so long, into the sketch of DPDK's librte_member (NitroSketch; of SAMPLED of the keys
 * one row is counted, 1: count-min in all rows). Prints ns of CPU time per key: without frames. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_member.h>

#define FILE_HEADER 24
#define PACKET_HEADER 16
#define FRAME 60
#define PROTOCOL_AT 23
#define ADDRESSES_AT 26
#define ADDRESSES_AND_PORTS 12
#define KEY 13
#define MOST 1000000
#define TOP 64 /* flows whose keys are kept */
#define BATCH 1024

static unsigned char keys[MOST][KEY];

static unsigned int read_keys(const char *name)
{
	unsigned char record[PACKET_HEADER + FRAME];
	FILE *file = fopen(name, "re");
	unsigned int count = 0;

	if (!file || fseek(file, FILE_HEADER, SEEK_SET))
		return 0;
	while (count < MOST && fread(record, sizeof(record), 1, file) == 1) {
		const unsigned char *frame = record + PACKET_HEADER;

		memcpy(keys[count], frame + ADDRESSES_AT, ADDRESSES_AND_PORTS);
		keys[count++][ADDRESSES_AND_PORTS] = frame[PROTOCOL_AT];
	}
	fclose(file);
	return count;
}

static double cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

static void measure(struct rte_member_setsum *sketch, unsigned int count, double ms)
{
	unsigned int next = 0;
	double done = 0, took, begin = cpu_ns();

	do {
		for (unsigned int i = 0; i < BATCH; i++) {
			rte_member_add(sketch, keys[next], 1);
			next = next + 1 == count ? 0 : next + 1;
		}
		done += BATCH;
		took = cpu_ns() - begin;
	} while (took < ms * 1e6);
	printf("%.2f\n", took / done);
}

int main(int argc, char **argv)
{
	char *words[] = { argv[0],    "--no-huge",	"--no-shconf",
			  "--no-pci", "--no-telemetry", "-m",
			  "256",      "--iova-mode=va", "--log-level=*:error" };
	struct rte_member_parameters parameters = {
		.name = "sketch",
		.type = RTE_MEMBER_TYPE_SKETCH,
		.key_len = KEY,
		.prim_hash_seed = 1,
		.sec_hash_seed = 2,
		.top_k = TOP,
	};
	struct rte_member_setsum *sketch;
	unsigned int count;

	if (argc != 5)
		return 2;
	if (rte_eal_init((int)RTE_DIM(words), words) < 0)
		return 1;
	count = read_keys(argv[1]);
	parameters.sample_rate = (float)atof(argv[3]);
	/* It makes 4 / error / sample rate columns. */
	parameters.error_rate = (float)(4 / atof(argv[4]) / atof(argv[3]));
	sketch = rte_member_create(&parameters);
	if (!count || !sketch)
		return 1;
	measure(sketch, count, atof(argv[2]));
	return 0;
}
