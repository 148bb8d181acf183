// SPDX-License-Identifier: Apache-2.0
/* Sends records to Kafka by librdkafka. The producer is idempotent: a broker that is asked again
 * stores no record twice. */
#include <string.h>

#include <librdkafka/rdkafka.h>

#include "../../dataplane/common/report.h"
#include "sink.h"

static const char *const properties[][2] = {
	{ "enable.idempotence", "true" },
	/* The exporting thread takes what came in LOOK_MS together anyway. */
	{ "linger.ms", "1" },
	/* A second small request would wait until the broker's kernel confirms the first one. */
	{ "socket.nagle.disable", "true" },
	{ "queue.buffering.max.messages", "200000" },
	{ "queue.buffering.max.kbytes", "131072" },
	/* The connection is back within 10 s after its broker is. */
	{ "reconnect.backoff.ms", "100" },
	{ "reconnect.backoff.max.ms", "2000" },
	{ "socket.connection.setup.timeout.ms", "5000" },
	{ "log.connection.close", "false" },
	/* No record is lost in an outage of the broker that is shorter than this. */
	{ "message.timeout.ms", "60000" },
	/* The topic may be created later than its producer. */
	{ "topic.metadata.refresh.fast.interval.ms", "250" },
};

static struct sink_counters *counters;
static const char *topic;
static rd_kafka_t *producer;

/* Count a record that was delivered, or was not. rd_kafka_poll() and rd_kafka_flush() call this. */
static void delivered(rd_kafka_t *from, const rd_kafka_message_t *message, void *context)
{
	(void)from, (void)context;
	if (!message->err)
		sink_count(&counters->sent);
	else if (rd_kafka_message_status(message) == RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED)
		sink_count(&counters->lost[LOSS_UNCONFIRMED]);
	else
		sink_count(&counters->lost[LOSS_NOT_DELIVERED]);
}

/* Complain that a broker is away, but only once, not at each attempt. */
static void noted(rd_kafka_t *from, int error, const char *reason, void *context)
{
	static bool told;

	(void)from, (void)context;
	if (!told)
		complain("%s: %s", rd_kafka_err2str(error), reason);
	told = true;
}

/* Set a property. Returns false after complain(). */
static bool set(rd_kafka_conf_t *configuration, const char *name, const char *value)
{
	char why[256];

	if (rd_kafka_conf_set(configuration, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
		return true;
	complain("Kafka: %s", why);
	return false;
}

/* Make the configuration of a producer. Returns NULL after complain(). */
static rd_kafka_conf_t *configure(const struct sink_settings *settings)
{
	rd_kafka_conf_t *configuration = rd_kafka_conf_new();
	bool right = set(configuration, "bootstrap.servers", settings->brokers);

	for (size_t i = 0; right && i < sizeof(properties) / sizeof(*properties); i++)
		right = set(configuration, properties[i][0], properties[i][1]);
	if (!right) {
		rd_kafka_conf_destroy(configuration);
		return NULL;
	}
	rd_kafka_conf_set_dr_msg_cb(configuration, delivered);
	rd_kafka_conf_set_error_cb(configuration, noted);
	rd_kafka_conf_set_log_cb(configuration, NULL);
	return configuration;
}

static int open_kafka(const struct sink_settings *settings, struct sink_counters *shared)
{
	rd_kafka_conf_t *configuration = configure(settings);
	char why[256];

	counters = shared;
	topic = settings->topic;
	if (!configuration)
		return -1;
	producer = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, why, sizeof(why));
	if (producer) /* it owns the configuration now */
		return 0;
	rd_kafka_conf_destroy(configuration);
	complain("Kafka: %s", why);
	return -1;
}

/* Give a record to the producer. If the producer does not take it, it is lost and counted. */
static void send_message(const char *key, size_t key_bytes, const char *text, size_t bytes)
{
	rd_kafka_resp_err_t error = rd_kafka_producev(
		producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		RD_KAFKA_V_KEY(key, key_bytes), RD_KAFKA_V_VALUE((void *)text, bytes),
		RD_KAFKA_V_END);

	if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL)
		sink_count(&counters->lost[LOSS_QUEUE_FULL]);
	else if (error)
		sink_count(&counters->lost[LOSS_NOT_DELIVERED]);
}

static bool serve_kafka(void)
{
	rd_kafka_poll(producer, 0);
	return rd_kafka_outq_len(producer) > 0;
}

/* Send what is left, for a limited time, and count what is lost. The producer is not destroyed:
 * that would wait for connections, and the process ends anyway. */
static void close_kafka(int timeout_ms)
{
	rd_kafka_flush(producer, timeout_ms);
	rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_flush(producer, 100); /* calls delivered() for what was purged */
}

const struct sink sink_kafka = {
	.open = open_kafka,
	.send = send_message,
	.serve = serve_kafka,
	.close = close_kafka,
};
