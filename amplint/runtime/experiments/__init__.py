"""What shows without a path through the code? One small experiment a module."""
