"""Apache Kafka through librdkafka: `admin` on the driver, `reader` in the tasks."""
