"""Study: as good as pooling where sites are alike, better where they differ."""
