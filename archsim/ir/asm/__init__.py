"""The assembly listing of a Program: ``printer.print_program``, ``parser.parse_program`` (docs/assembly.md)."""
