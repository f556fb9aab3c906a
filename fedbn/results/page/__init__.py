"""The report: what a run found, as one HTML file that can be mailed and asks nothing of anybody.

    outcome, run -> content (one JSON object, `report.json`) -> page (`report.html`)

The content holds all that the page shows, so that `fedbn report` makes the page anew, or the one
for the public, from a folder that somebody sent.
"""
