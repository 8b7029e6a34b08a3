"""Schedule policies: what a vendor's compiler or runtime would allow. Begin with ``catalogue``; none is run yet."""
