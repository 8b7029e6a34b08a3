"""Set-associative caches with least-recently-used replacement, exact per access: pure, for machine and compiler."""
