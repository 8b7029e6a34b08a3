"""Groups of layers that run together in passes: what each member does in a pass, and the windows between members."""
