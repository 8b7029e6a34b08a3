"""Recommendation models from a config.json: rows of large tables, and small networks before and behind them."""
