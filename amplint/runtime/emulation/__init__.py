"""What would a GPU's autocast do? CUDA's dtypes on CPU tensors."""
