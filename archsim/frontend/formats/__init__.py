"""Front ends: one file for each format of models. ``archsim.frontend.catalogue`` says what each defines."""
