"""One layer as a problem: what it asks of one engine, what a mapping may cut, and what a chip has for it."""
