"""Reading rows of one partition in the order of their sort key: DynamoDB's Query, and the same in memory."""

from headrace.readers.base import RangeQuery, RangeReader, Rows

__all__ = ["RangeQuery", "RangeReader", "Rows"]
