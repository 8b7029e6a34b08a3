"""Whether two commands may touch the same bytes in an order that the tokens leave open."""
