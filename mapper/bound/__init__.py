"""What no schedule of a network undercuts on a chip: bytes that have to move, and cycles."""
