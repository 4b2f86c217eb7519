"""A kind of source unlike Kafka: its positions are texts that do not follow one another, its partitions may end."""
