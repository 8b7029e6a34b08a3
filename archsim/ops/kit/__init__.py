"""What operator families are written with: the Family, and the Builder, accesses and steps that its lowering emits."""
