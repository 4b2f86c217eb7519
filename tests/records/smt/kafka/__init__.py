"""Kafka's own transforms, run in a JVM beside frazil's."""
