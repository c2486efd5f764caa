"""What linters of the template get, and the exceptions from their rules, each with its reason."""
