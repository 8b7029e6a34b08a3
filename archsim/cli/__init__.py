"""The command line. Each command reads its options, calls the lab and prints; libraries load when a command needs them.

Begin with ``app``, which lists the commands.
"""
