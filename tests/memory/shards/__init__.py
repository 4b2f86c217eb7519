"""Streams whose records are in a file: partitions and offsets are texts, and positions are those of Kinesis."""
