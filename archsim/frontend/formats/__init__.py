"""Front ends: one file for each format of models that is read. ``archsim.frontend.catalogue`` says what each defines."""
