"""``archsim verify``: the Program executed numerically and compared with the model."""
