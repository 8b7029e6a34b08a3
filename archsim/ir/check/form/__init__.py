"""Whether a Program is well formed: what it declares, and each command by itself."""
