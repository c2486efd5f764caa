"""Headrace: all logic of the functions, testable without AWS.

A package imports only packages above it in this map:

    core        pure, no I/O: errors, times, keys, callers, envelopes, items, streams' declarations
    declare     what users declare streams with, in the folder ``streams``
    runtime     what every function uses: settings, logs and metrics, boto3's clients, secrets, the breaker
    storage     tables and the cache: ports, adapters for DynamoDB and Redis
    queues      the broker, the retry queue and the dead-letter queue: ports, RabbitMQ, SQS
    api         both protocols: router, parameters, authentication, responses, paging
    health      health, status and the states of circuit breakers
    live        WebSocket connections, and pushes to them
    streams     the events that every stage has: chat, with its rooms
    stage       the features and streams of a stage, and what features add to the core
    services    objects that several functions and features use
    delivery    from clients to the tables: accept, publish, store, retry
    features    what can be left out, such as reactions; one folder each, which plugs into the packages above
    bootstrap   builds the functions

``functions/<verb_noun>/app.py`` names its routes and takes their services from ``bootstrap``. Only ``services``,
``bootstrap`` and the features build objects.
"""
