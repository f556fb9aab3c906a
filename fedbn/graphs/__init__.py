"""Structures: DAG, PDAG, CPDAG, moral graph, separation, treewidth.

Names are exported where they are defined (`fedbn.graphs.dag.DAG`); this package imports nothing,
so that reading one module loads only that module.
"""
