// SPDX-License-Identifier: Apache-2.0
/* Stands in for Cyrus SASL. The tool is linked statically, and Debian's static Cyrus SASL wants
 * Kerberos and Berkeley DB, which have no static libraries there. librdkafka asks Cyrus SASL
 * only for the mechanism GSSAPI; it is refused here when a connection would use it. PLAIN and
 * SCRAM are librdkafka's own. */
#include <stddef.h>

#define SASL_FAIL (-1)

int sasl_client_init(const void *callbacks);
int sasl_client_new(const char *service, const char *server, const char *local, const char *remote,
		    const void *callbacks, unsigned int flags, void **connection);
int sasl_client_start(void *connection, const char *mechanisms, void **prompt, const char **out,
		      unsigned int *bytes, const char **mechanism);
int sasl_client_step(void *connection, const char *in, unsigned int in_bytes, void **prompt,
		     const char **out, unsigned int *bytes);
int sasl_listmech(void *connection, const char *user, const char *prefix, const char *separator,
		  const char *suffix, const char **result, unsigned int *bytes, int *count);
int sasl_getprop(void *connection, int number, const void **value);
const char *sasl_errstring(int error, const char *languages, const char **language);
const char *sasl_errdetail(void *connection);
void sasl_dispose(void **connection);

int sasl_client_init(const void *callbacks)
{
	(void)callbacks;
	return 0; /* librdkafka calls it for every producer */
}

int sasl_client_new(const char *service, const char *server, const char *local, const char *remote,
		    const void *callbacks, unsigned int flags, void **connection)
{
	(void)service, (void)server, (void)local, (void)remote, (void)callbacks, (void)flags;
	*connection = NULL;
	return SASL_FAIL;
}

int sasl_client_start(void *connection, const char *mechanisms, void **prompt, const char **out,
		      unsigned int *bytes, const char **mechanism)
{
	(void)connection, (void)mechanisms, (void)prompt, (void)out, (void)bytes, (void)mechanism;
	return SASL_FAIL;
}

int sasl_client_step(void *connection, const char *in, unsigned int in_bytes, void **prompt,
		     const char **out, unsigned int *bytes)
{
	(void)connection, (void)in, (void)in_bytes, (void)prompt, (void)out, (void)bytes;
	return SASL_FAIL;
}

int sasl_listmech(void *connection, const char *user, const char *prefix, const char *separator,
		  const char *suffix, const char **result, unsigned int *bytes, int *count)
{
	(void)connection, (void)user, (void)prefix, (void)separator, (void)suffix;
	(void)result, (void)bytes, (void)count;
	return SASL_FAIL;
}

int sasl_getprop(void *connection, int number, const void **value)
{
	(void)connection, (void)number, (void)value;
	return SASL_FAIL;
}

const char *sasl_errstring(int error, const char *languages, const char **language)
{
	(void)error, (void)languages, (void)language;
	return "this tool is built without GSSAPI";
}

const char *sasl_errdetail(void *connection)
{
	(void)connection;
	return "this tool is built without GSSAPI";
}

void sasl_dispose(void **connection)
{
	*connection = NULL;
}
