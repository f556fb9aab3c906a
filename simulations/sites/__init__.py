"""The nodes of a simulation: the same client app, on tables that the run's settings name.

Flower's bundle of a simulation holds this package beside `clients`; a deployed site has no such
code. So nothing else of `simulations` is imported here.
"""
