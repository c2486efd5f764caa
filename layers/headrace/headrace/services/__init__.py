"""Objects that several functions and features use, each once per environment."""
