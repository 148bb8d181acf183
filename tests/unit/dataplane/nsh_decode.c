// SPDX-License-Identifier: Apache-2.0
/*
 * nsh-decode: the C codec (dataplane/nsh/nsh.h) as a filter.
 *
 * Reads lines of hexadecimal on stdin, each the bytes from an NSH on, and prints a JSON object for
 * each: the fields and the header as nsh_init() writes it again, or the error's name.
 */
#include <stdio.h>
#include <string.h>

#include "nsh.h"

static const char *const error_names[] = {
	[NSH_ERROR_TRUNCATED] = "truncated",
	[NSH_ERROR_VERSION] = "version",
	[NSH_ERROR_MD_TYPE] = "md_type",
	[NSH_ERROR_LENGTH] = "length",
};

static void print_hex(const __u8 *bytes, __u32 count)
{
	putchar('"');
	for (__u32 i = 0; i < count; i++)
		printf("%02x", bytes[i]);
	putchar('"');
}

static void print_contexts(const struct nsh_hdr *nsh)
{
	const __u8 *start = (const __u8 *)nsh;

	for (__u32 at = sizeof(*nsh); at < nsh_bytes(nsh);) {
		const struct nsh_context_hdr *context = (const void *)(start + at);

		printf("%s{\"md_class\": %u, \"type\": %u, \"data\": ",
		       at == sizeof(*nsh) ? "" : ", ", nsh_context_class(context), context->type);
		print_hex((const __u8 *)(context + 1), nsh_context_length(context));
		putchar('}');
		at += nsh_context_bytes(context);
	}
}

static void print_fields(const struct nsh_hdr *nsh)
{
	struct nsh_hdr again;

	nsh_init(&again, nsh_is_oam(nsh), nsh_ttl(nsh), nsh_bytes(nsh) / NSH_WORD, nsh_md_type(nsh),
		 nsh->next_protocol, nsh_spi(nsh), nsh->si);
	printf("{\"spi\": %u, \"si\": %u, \"ttl\": %u, \"oam\": %s, \"next_protocol\": %u, ",
	       nsh_spi(nsh), nsh->si, nsh_ttl(nsh), nsh_is_oam(nsh) ? "true" : "false",
	       nsh->next_protocol);
	printf("\"md_type\": %u, \"bytes\": %u, \"metadata\": ", nsh_md_type(nsh), nsh_bytes(nsh));
	if (nsh_md_type(nsh) == NSH_MD_TYPE_1) {
		print_hex((const __u8 *)(nsh + 1), NSH_MD1_BYTES);
	} else {
		putchar('[');
		print_contexts(nsh);
		putchar(']');
	}
	printf(", \"again\": ");
	print_hex((const __u8 *)&again, sizeof(again));
	printf("}\n");
}

/* Do the context headers of MD type 2 fill the NSH exactly? */
static int contexts_fit(const struct nsh_hdr *nsh)
{
	__u32 at = sizeof(*nsh);

	while (at < nsh_bytes(nsh))
		at += nsh_context_bytes((const void *)((const __u8 *)nsh + at));
	return at == nsh_bytes(nsh);
}

static void decode(const __u8 *bytes, __u32 count)
{
	const struct nsh_hdr *nsh = (const void *)bytes;
	enum nsh_error error = nsh_check(nsh, count);

	if (error != NSH_OK)
		printf("{\"error\": \"%s\"}\n", error_names[error]);
	else if (nsh_md_type(nsh) == NSH_MD_TYPE_2 && !contexts_fit(nsh))
		printf("{\"error\": \"metadata\"}\n");
	else
		print_fields(nsh);
}

static int parse_hex(const char *line, __u8 *bytes, __u32 limit, __u32 *count)
{
	unsigned int value;

	for (*count = 0; sscanf(line, "%2x", &value) == 1; line += 2) {
		if (*count == limit)
			return -1;
		bytes[(*count)++] = (__u8)value;
	}
	return 0;
}

int main(void)
{
	__u8 bytes[2048];
	char line[2 * sizeof(bytes) + 2];
	__u32 count;

	while (fgets(line, sizeof(line), stdin)) {
		memset(bytes, 0, sizeof(struct nsh_hdr));
		if (parse_hex(line, bytes, sizeof(bytes), &count))
			return 1;
		decode(bytes, count);
	}
	return 0;
}
