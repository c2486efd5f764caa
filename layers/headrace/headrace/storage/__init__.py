"""Tables and the cache: ports, fakes in memory, breakers, and the adapters for DynamoDB and Redis."""
