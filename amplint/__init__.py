"""amplint finds, repairs and proves misuse of PyTorch automatic mixed precision."""

__version__ = "0.1.0"
