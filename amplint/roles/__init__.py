"""What is what? Scalers, optimizers, schedulers, autocast contexts, and the functions that calls run."""
