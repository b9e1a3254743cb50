"""The built-in rule pack of amplint: one module per rule, in the order of their codes."""
