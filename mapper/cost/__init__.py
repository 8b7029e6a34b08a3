"""What mappings of a layer cost, to rank them by: figures for every cut of its dims at once."""
