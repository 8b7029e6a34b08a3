"""The compiled event machine: queues, tokens, engines and ports of a Program in one loop without Python objects."""
