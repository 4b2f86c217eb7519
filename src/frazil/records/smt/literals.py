"""What Kafka Connect takes a text for that stands for a value: its `Values.parseString`."""
