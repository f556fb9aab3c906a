"""What is typed of known networks: their list."""

from __future__ import annotations

from simulations.options import Json, NetworkDir, with_quiet


@with_quiet
def networks(network_dir: NetworkDir = None, as_json: Json = False) -> None:
    """List the networks that can be sampled by name."""
    from simulations.inputs import network_facts
    from simulations.terminal import print_json, print_table, rows_table

    facts = network_facts(network_dir)
    if as_json:
        print_json({"networks": facts})
        return
    print_table(rows_table(tuple(facts[0]), [tuple(fact.values()) for fact in facts]))
