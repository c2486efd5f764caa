"""The duties of Headrace's functions, written the usual way: the peers of ``bench.cold``.

Each imports what its tutorials import, at the top: boto3 with resources, a resolver and the logger of Powertools,
pydantic, pika, redis. They are imported, and never called: handlers are left out, and what these would use is not.
"""
