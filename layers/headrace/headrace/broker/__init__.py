"""Publishing to the broker: ``base`` says what is promised, ``rabbitmq`` and ``memory`` keep it."""
