"""A deployment of ``template.yaml`` without AWS: ``make rehearse``.

``sam build`` and ``sam deploy`` run as they would against AWS, but ``AWS_ENDPOINT_URL`` is MiniStack, which checks the
rights of every call. The broker and the cache of a stack are a real RabbitMQ and a real Redis.

    steps      what is rehearsed, in order
    sam        the commands of the SAM CLI, in a copy of what they read
    mappings   reads the queues of brokers for the functions
    cloud      the emulated account: starts it, and answers questions about stacks
    machines   starts RabbitMQ and Redis when a stack creates its broker and cache
    events     the events of ``events/`` and the answers that are expected
    report     the table of resource types
    gaps       what the emulator lacks
    shim       fills the gaps, inside the emulator
    rights     checks rights as AWS does, inside the emulator
    apis       serves APIs and sign-in as AWS does, inside the emulator
"""
