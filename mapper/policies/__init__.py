"""Schedule policies: what a vendor's compiler or library allows of schedules. Begin with ``catalogue``."""
