"""What the commands of `fedbn` do; those with few options have them here, the others in `cli`."""
