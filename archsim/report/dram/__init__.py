"""The report of a memory that replayed a trace alone."""
