"""Where tensors and the rings of their tiles lie, and which tensors stay on chip between layers."""
