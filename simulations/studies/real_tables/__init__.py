"""The study of tables as sites have them: numbers beside categories, and shifted laboratories."""
