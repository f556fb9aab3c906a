"""Attacks on structures and audits of mechanisms: what leaves a site, measured.

Nothing here is imported by a client or a server. Every attack is a function of a learner; its
result holds its sample sizes, and 95 % intervals where it is an estimate.
"""
