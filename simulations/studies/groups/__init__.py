"""The study of sites from several populations: are the groups found, and what do they bring."""
