"""Which text edits does a fix consist of? Statements moved and wrapped, imports added and taken away."""
