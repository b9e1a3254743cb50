"""What does PyTorch's AMP interface mean? Its names, and which precision each operation gets."""
