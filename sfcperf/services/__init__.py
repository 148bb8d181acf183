"""Services: servers that a run starts beside its chains, such as a Kafka broker."""
