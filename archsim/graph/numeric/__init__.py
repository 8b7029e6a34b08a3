"""A model in numbers: contents of its constants, its results in NumPy, quantised or not, and how tensors hold them."""
