"""Kafka Connect's single message transforms, as Apache Kafka 4.2 has them, over Connect's records."""
