"""The memory model alone: a request trace replayed, measured and put into figures."""
