"""Families (a node and its parent set): which ones a best DAG can use, and exact tools on them.

Proven optima, CG-DCA and credible sets share this room.
"""
