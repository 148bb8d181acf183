// SPDX-License-Identifier: Apache-2.0
/* Fuzzer: a request of SDN-Mon in a message of OpenFlow. */
#include "fuzz.h"
#include "../sdnmon/agent/requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct settings settings = { 0 };
	struct request request;
	struct refusal refusal;
	struct sdnmon_key key;
	__u64 secret, number;
	bool has_secret;
	int keys;

	/* The agent hands no shorter messages to this parser. */
	if (size < SDNMON_HEADER || request_read(data, size, &request, &refusal))
		return 0;
	switch (request.type) {
	case SDNMON_MODE_ON:
	case SDNMON_RESET_TABLE:
		request_settings(&request, &settings, &has_secret, &secret, &refusal);
		break;
	case SDNMON_ADD_ENTRIES:
	case SDNMON_REMOVE_ENTRIES:
		fields_parse("ipv4_src,ipv4_dst,ip_proto,tp_src,tp_dst", &settings.config);
		keys = request_keys(&request, &settings.config, &refusal);
		for (int i = 0; i < keys; i++)
			request_key(&request, &settings.config, i, &key);
		break;
	default:
		if (request.bytes >= sizeof(__u32))
			request_number(&request, 1, 100, "number", &number, &refusal);
	}
	return 0;
}
