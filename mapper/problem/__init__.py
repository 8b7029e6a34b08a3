"""What one layer asks of one engine: its dims, operands and memories, and the cuts that a mapping may make."""
