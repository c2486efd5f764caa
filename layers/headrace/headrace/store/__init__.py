"""Writing rows: ``base`` says what is promised, ``dynamodb`` and ``memory`` keep it."""
