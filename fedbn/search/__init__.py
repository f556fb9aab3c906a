"""Local structure searches: GES, XGES-0, hill climbing; uncertainty by the bootstrap.

Names are exported where they are defined (`fedbn.search.ges.ges`); this package imports nothing.
"""
