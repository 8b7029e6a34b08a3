"""What families of models that are described by a config.json have in common: its fields, the graph, what is asked."""
