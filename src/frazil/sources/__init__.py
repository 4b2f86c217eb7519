"""Where records come from: topics of Apache Kafka."""
