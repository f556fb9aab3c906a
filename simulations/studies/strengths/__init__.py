"""The study of strengths: of edges said to be so sure, how many are true."""
