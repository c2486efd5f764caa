"""What a stage costs on AWS: prices, a model of what events use, and a command that prints the items."""
