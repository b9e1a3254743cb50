"""What does a running program do? Its calls of torch, written down as events and judged."""
