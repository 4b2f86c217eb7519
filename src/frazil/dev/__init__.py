"""What a person needs to try frazil on one machine: a real Kafka broker, and orders to put into it."""
