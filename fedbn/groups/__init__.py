"""Sites that differ: a tree over them, the groups that it is cut into, and where these differ.

profiles -> tree -> cut (one_population, redrawn: is there more than one?) -> grouping ->
differences
"""
