"""How does amplint meet the operating system? Safe reads and writes, bounded costs, modules only from what is installed."""
