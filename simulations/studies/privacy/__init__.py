"""The study of private structures."""
