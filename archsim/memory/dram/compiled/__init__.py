"""The compiled kernel of the exact DRAM controller: command by command, one clock cycle at a time where one matters."""
