"""Steps in Spark SQL that lead from a Kafka message to a verdict or a dead letter.

Each step takes and returns a DataFrame, which may be a stream or a batch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfcperf.services.classifier.engine import (
    LARGEST_KEY_BYTES,
    LARGEST_LETTER_BYTES,
    Broker,
)
from sfcperf.services.classifier.features import EARLY, PLACES
from sfcperf.services.classifier.records import LARGEST_RECORD_BYTES
from sfcperf.services.classifier.spark.patterns import AS_EXPORTED, IN_ORDER
from sfcperf.vnfs.ids.features import NAMES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

VERSION = 1
"""Version of verdicts."""
VECTOR = "seen"
PREDICTION = "prediction"
_FIELDS = "source STRING, sequence BIGINT, kind STRING, first_ns BIGINT, features STRING"
"""Fields of a record that are read from its JSON; `features`, an array, stays text."""
_NOTHING = "0," * (len(NAMES) - 1) + "0"
"""Features for a message that is no record: the tree judges all messages, and that answer is not
used."""
_REASON = "no flow record (schemas/flow-record.schema.json)"


def made(spark: SparkSession, count: int) -> DataFrame:
    """Make messages with empty records, in the columns that Kafka gives. They serve to warm up the
    JVM."""
    from pyspark.sql import functions as f

    features = [{"srcip": "::", "dstip": "::", "class": None}.get(name, 0) for name in NAMES]
    record = {"version": 1, "source": "", "run": "", "sequence": 0, "kind": EARLY}
    record |= {"first_ns": 0, "last_ns": 0, "features": features}
    return spark.range(count).select(
        f.lit(json.dumps(record, separators=(",", ":"))).cast("binary").alias("value"),
        f.lit(None).cast("binary").alias("key"),
        f.lit(0).alias("partition"),
        f.col("id").alias("offset"),
        f.current_timestamp().alias("timestamp"),
    )


def parsed(messages: DataFrame) -> DataFrame:
    """Add three columns to Kafka's: `record` (null if poisoned), `columns`, its features as an
    array of text, and `VECTOR`, what the model sees."""
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions as f

    columns = f.split(f.trim(f.coalesce("record.features", f.lit(_NOTHING)), f.lit("[]")), ",")
    options = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
    return (
        messages.withColumn("text", _canonical())
        .withColumn(
            "record", f.when(f.col("text").isNotNull(), f.from_json("text", _FIELDS, options))
        )
        .withColumn("columns", columns)
        .withColumn(VECTOR, array_to_vector(f.array(_early(), *_seen())))
    )


def _canonical() -> Column:
    """The text of a record without spaces; null if it is no record. A text as the IDS writes it is
    taken as it is, without being parsed."""
    from pyspark.sql import functions as f

    short = f.when(f.octet_length("value") <= LARGEST_RECORD_BYTES, f.col("value"))
    text = f.try_validate_utf8(short.cast("string"))
    # Other texts are parsed as a variant, which keeps each value's type and puts fields in
    # alphabetic order. The brackets make text after the record an error.
    ordered = f.to_json(f.try_parse_json(f.concat(f.lit("["), text, f.lit("]"))))
    ordered = f.substring(ordered, 2, LARGEST_RECORD_BYTES)
    return f.when(text.rlike(AS_EXPORTED), text).when(ordered.rlike(IN_ORDER), ordered)


def _early() -> Column:
    """The feature EARLY, which is no column of a record: 1 or 0."""
    from pyspark.sql import functions as f

    return f.when(f.col("record.kind") == EARLY, 1.0).otherwise(0.0)


def _seen() -> list[Column]:
    """The other features that the model sees, in their order."""
    from pyspark.sql import functions as f

    return [f.col("columns").getItem(place).cast("double") for place in PLACES]


def answered(judged: DataFrame, labels: Sequence[str], broker: Broker) -> DataFrame:
    """Make the messages that go to Kafka from parsed ones. `PREDICTION` is the place of the label
    in `labels`."""
    from pyspark.sql import functions as f

    good = f.col("record").isNotNull()
    verdict = _verdict(labels).cast("binary")
    return judged.select(
        f.when(good, f.lit(broker.verdicts)).otherwise(f.lit(broker.dead_letters)).alias("topic"),
        "partition",
        f.when(f.octet_length("key") <= LARGEST_KEY_BYTES, f.col("key")).alias("key"),
        f.when(good, verdict)
        .otherwise(f.substring("value", 1, LARGEST_LETTER_BYTES))
        .alias("value"),
        f.when(~good, f.array(*_headers())).alias("headers"),
    )


def _verdict(labels: Sequence[str]) -> Column:
    """The text of a verdict, with the fields of `verdicts.Verdict` in its order. `to_json` takes
    longer than all else that happens to a record, so it writes only the source, which may need
    escapes."""
    from pyspark.sql import functions as f

    record = f.col("record")
    source = f.to_json(f.struct(record["source"].alias("source")))
    texts = f.array(*(f.lit(json.dumps(label)) for label in labels))
    # `substring` cuts the value out of `{"source":...}`. Like `element_at`, it counts from 1.
    named = {
        "record": f.concat(f.lit("["), "partition", f.lit(","), "offset", f.lit("]")),
        "recorded_ms": f.unix_millis("timestamp"),
        "source": f.substring(source, len('{"source":') + 1, f.length(source) - len('{"source":}')),
        "sequence": record["sequence"],
        "kind": f.concat(f.lit('"'), record["kind"], f.lit('"')),
        "first_ns": record["first_ns"],
        "protocol": _column("proto"),
        "src": _column("srcip"),
        "src_port": _column("srcport"),
        "dst": _column("dstip"),
        "dst_port": _column("dstport"),
        "label": f.element_at(texts, f.col(PREDICTION).cast("int") + 1),
    }
    fields = (part for name, text in named.items() for part in (f.lit(f',"{name}":'), text))
    return f.concat(f.lit(f'{{"version":{VERSION}'), *fields, f.lit("}"))


def _column(name: str) -> Column:
    """The text of one column of a record's features."""
    from pyspark.sql import functions as f

    return f.col("columns").getItem(NAMES.index(name))


def _headers() -> list[Column]:
    """Headers of a dead letter: which message it was, and why it is no record."""
    from pyspark.sql import functions as f

    cut = f.octet_length("value") > LARGEST_LETTER_BYTES
    named = {
        "partition": f.col("partition").cast("string"),
        "offset": f.col("offset").cast("string"),
        "reason": f.when(cut, f.lit(f"{_REASON}; cut")).otherwise(f.lit(_REASON)),
    }
    return [
        f.struct(f.lit(name).alias("key"), value.cast("binary").alias("value"))
        for name, value in named.items()
    ]
