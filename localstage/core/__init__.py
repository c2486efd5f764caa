"""What the packages of the stage share: its errors, the model of a template, and how functions are invoked."""
