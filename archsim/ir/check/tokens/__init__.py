"""Whether a Program's tokens balance in every order of its queues, and who has ended when another starts."""
