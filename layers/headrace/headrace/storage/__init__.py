"""Tables and the cache: ports with breakers, and the adapters for DynamoDB and Redis."""
