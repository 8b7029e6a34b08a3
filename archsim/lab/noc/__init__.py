"""The network model on its own."""
