"""The study of sites with different variables: what is lost, and to which rival rules."""
