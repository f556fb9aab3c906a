"""The commands of `fedbn`: what each does, apart from its options."""
