"""The study of missing cells: how far imputed tables are from complete ones, and at what cost."""
