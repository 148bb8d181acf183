"""The Spark session: one JVM with Spark's driver in it, for as long as the run lasts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.services import jars
from sfcperf.services.classifier.spark.settings import local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = "spark"
"""Name of the folder of jars for Spark: its connector for Kafka."""
_FOREIGN = ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_REMOTE", "SPARK_LOCAL_DIRS")
"""Environment variables that could make it another Spark than the one that is installed here."""


def session(parameters: Mapping[str, Any], work: Path) -> SparkSession:
    """Start Spark; all of its files are in `work`, which becomes the working folder of this
    process. `parameters` are those of the engine (`settings.SCHEMA`)."""
    import pyspark
    from pyspark.sql import SparkSession

    for name in _FOREIGN:
        os.environ.pop(name, None)
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["TMPDIR"] = str(work)
    os.chdir(work)
    builder = SparkSession.builder.master(parameters["master"]).appName("sfcperf")
    for name, value in _settings(parameters, work).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _settings(parameters: Mapping[str, Any], work: Path) -> Mapping[str, str]:
    """Spark's configuration; properties that the user gives come last, and so take precedence."""
    here = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return {
        "spark.jars": ",".join(str(jar) for jar in sorted(jars.folder(JARS).glob("*.jar"))),
        "spark.driver.memory": f"{parameters['memory_mib']}m",
        # No perf data: the JVM writes it to /tmp, whatever the temporary folder is.
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={work} -XX:-UsePerfData",
        "spark.local.dir": str(work),
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        "spark.log.level": "WARN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.debug.maxToStringFields": "100",
        "spark.sql.streaming.minBatchesToRetain": "10",
        # A batch may be shorter than the default, so that less is done again after a crash.
        "spark.sql.streaming.realTimeMode.minBatchDuration": "1000",
        **(here if local(parameters) else {}),
        **parameters["conf"],
    }
