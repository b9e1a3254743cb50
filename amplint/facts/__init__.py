"""What else may a rule ask about a file? One kind of fact a module."""
