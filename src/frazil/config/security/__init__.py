"""Security keys of Java's Kafka client (`ssl.*`, `sasl.*`) in the terms of librdkafka."""
