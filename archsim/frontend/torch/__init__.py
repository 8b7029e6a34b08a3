"""Programs of torch.export: read from their archives as data, or made of modules on the meta device."""
