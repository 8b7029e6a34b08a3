"""The assembly listing of a Program: ``printer.print_program`` and ``parser.parse_program`` (grammar: docs/assembly.md)."""
