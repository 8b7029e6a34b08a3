"""Files without a run: checking them, listing what exists, their JSON Schemas, pages of stored results."""
