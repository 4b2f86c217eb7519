"""Records as Kafka Connect knows them: values with schemas, and what becomes of them."""
