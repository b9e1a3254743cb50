"""What mixed precision means: events, the protocol, precision, and torch's interface. Imports neither libcst nor torch."""
