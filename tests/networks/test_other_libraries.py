"""BIF files that another library reads; for pgmpy see test_catalog.py."""

from pathlib import Path

import numpy as np
import pyagrum as gum
import pytest

from fedbn.data.schema import Schema, Variable
from fedbn.graphs.dag import DAG
from fedbn.networks.bif import read_bif, write_bif
from fedbn.networks.network import BayesianNetwork


def mixed_network() -> BayesianNetwork:
    """Interval states, a state `missing`, and states that are no words in BIF."""
    schema = Schema(
        (
            Variable.cut("age", [30.0, 45.5], missing=True),
            Variable("income", ("<=50K", ">50K")),
            Variable("job", ("Exec", "missing")),
        )
    )
    dag = DAG.from_edges(schema.names, [("age", "income"), ("job", "income")])
    rng = np.random.default_rng(3)
    cpts = [rng.dirichlet(np.ones(r), q) for q, r in ((1, 4), (8, 2), (1, 2))]
    return BayesianNetwork(dag, schema, tuple(cpts))


@pytest.mark.filterwarnings("always::fedbn.errors.FedbnWarning")
def test_pyagrum_reads_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "n.bif"
    write_bif(mixed_network(), path)
    expected = read_bif(path)
    found = gum.loadBN(str(path))
    assert set(found.names()) == set(expected.names)
    for node, name in enumerate(expected.names):
        parents = [expected.names[parent] for parent in expected.dag.parents(node)]
        assert {found.variable(parent).name() for parent in found.parents(name)} == set(parents)
        sizes = [len(expected.schema.states[expected.names.index(each)]) for each in parents]
        for place in np.ndindex(*sizes):
            given = {
                each: expected.schema.states[expected.names.index(each)][k]
                for each, k in zip(parents, place, strict=True)
            }
            row = int(np.ravel_multi_index(place, sizes)) if parents else 0
            for state, share in zip(
                expected.schema.states[node], expected.cpts[node][row], strict=True
            ):
                # pyAgrum reads numbers in single precision.
                assert found.cpt(name)[{**given, name: state}] == pytest.approx(share, abs=1e-7)
