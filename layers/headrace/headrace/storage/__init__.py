"""Tables and the cache: ports, breakers, and the adapters for DynamoDB and Redis."""
