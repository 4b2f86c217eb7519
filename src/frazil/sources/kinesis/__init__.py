"""Streams of Amazon Kinesis: shards that split, merge and end, read exactly once and in order."""
