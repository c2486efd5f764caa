"""DynamoDB: the client, and the adapters that write batches and read ranges and columns."""
