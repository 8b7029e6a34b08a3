"""The exact DRAM controller's compiled code: command by command, one clock cycle at a time where one matters."""
