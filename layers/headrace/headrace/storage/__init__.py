"""Tables, the cache and buckets: ports with breakers, and the adapters for DynamoDB, Redis and S3."""
