"""A Spark in this process, whose catalog `c` is the default one. It is told the address of the catalog and the name of a
warehouse; of the store only what a story adds."""

import os
import pathlib
import tempfile

from pyspark.sql import SparkSession

JARS = pathlib.Path(os.environ["FIRN_TEST_JARS"])


def _jar(name):
    return str(next(JARS.glob(f"{name}-*.jar")))


def start_spark(url, warehouse, s3, settings):
    """One JVM is driver and executor; it leaves its files in a folder that becomes the current one."""
    folder = tempfile.mkdtemp(dir=os.environ.get("FIRN_TEST_TMP"))
    os.chdir(folder)
    jars = [_jar("iceberg-spark-runtime")] + ([_jar("iceberg-aws-bundle")] if s3 else [])
    options = {
        "spark.jars": ",".join(jars), "spark.driver.memory": "1g", "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false", "spark.local.dir": folder,
        "spark.sql.warehouse.dir": folder, "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC", "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={folder}",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.defaultCatalog": "c", "spark.sql.catalog.c": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.c.type": "rest", "spark.sql.catalog.c.uri": url,
        "spark.sql.catalog.c.warehouse": warehouse}
    options |= {f"spark.sql.catalog.c.{name}": value for name, value in settings.items()}
    builder = SparkSession.builder.master("local[2]").appName("story")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
