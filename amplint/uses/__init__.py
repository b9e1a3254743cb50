"""What is a value used for? Gradients that are read, losses that are reported."""
