// SPDX-License-Identifier: Apache-2.0
/* Opens captures: finds out by the first bytes whether they are pcap or pcapng. */
#include <string.h>

#include "../common/report.h"
#include "formats.h"

#define MAGIC_PCAPNG 0x0a0d0d0a /* the same in both byte orders */
#define MAGIC_GZIP 0x8b1f
#define MAGIC_ZSTD 0xfd2fb528

/* Return the first four bytes of the input; 0 if it has fewer. */
static uint32_t magic_of(struct capture *capture)
{
	const uint8_t *head = input_peek(&capture->input, sizeof(uint32_t));
	uint32_t magic = 0;

	if (head)
		memcpy(&magic, head, sizeof(magic));
	return magic;
}

bool capture_is_compressed(struct capture *capture)
{
	uint32_t magic = magic_of(capture);
	const char *tool = (magic & 0xffff) == MAGIC_GZIP ? "zcat"
			   : magic == MAGIC_ZSTD	  ? "zstdcat"
							  : NULL;

	if (tool)
		complain("%s is compressed: decompress it, for instance `%s FILE | ... -`",
			 capture->input.name, tool);
	return tool != NULL;
}

bool capture_recognised(struct capture *capture)
{
	uint32_t magic = magic_of(capture);

	return magic == MAGIC_PCAPNG || pcap_recognised((const uint8_t *)&magic);
}

bool capture_begin(struct capture *capture)
{
	return magic_of(capture) == MAGIC_PCAPNG ? pcapng_begin(capture) : pcap_begin(capture);
}

bool capture_open(struct capture *capture, const char *name)
{
	*capture = (struct capture){ 0 };
	if (!input_open(&capture->input, name) || capture_is_compressed(capture))
		return false;
	if (!capture_recognised(capture)) {
		complain("%s has no frames; allowed: pcap, pcapng", capture->input.name);
		return false;
	}
	return capture_begin(capture);
}
