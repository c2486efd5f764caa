"""The dead lane: ``base`` says what is promised, ``sqs`` and ``memory`` keep it."""
