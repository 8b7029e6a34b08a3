"""The compiler: from a Workload and a chip to a Mapping and the Program that runs it."""
