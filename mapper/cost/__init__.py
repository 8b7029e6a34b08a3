"""What a mapping of a layer costs, to rank by: cycles, energy and bytes, of all cuts of its dims at once."""
