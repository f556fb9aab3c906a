"""fedbn at a notebook: open this file as a notebook (its cells begin with `# %%`), or run it."""

# %% Three hospitals, each with a table of its own. Yours come from pandas, or fb.read_table(path).
import numpy as np

import fedbn as fb

network = fb.load_network("asia")
frames = {
    name: fb.Table(network.sample(1000, np.random.default_rng(seed))).to_pandas()
    for seed, name in enumerate(("east", "north", "south"))
}
sites = {name: fb.Table.from_pandas(frame) for name, frame in frames.items()}
print(sites["north"])

# %% One table, one structure. "optimal" also proves how good it is.
learned = fb.learn(sites["north"], "xges", score="bdeu", seed=1)
print(learned)
print(learned.dag.edges, learned.cpdag, learned.score, learned.bound, learned.status)
print(learned.edges_frame())

# %% One consensus of all sites: only their structures are used.
consensus = fb.fuse({name: fb.learn(table).dag for name, table in sites.items()})
print(consensus)
print(consensus.theta, consensus.mean_smhd, consensus.gap, len(consensus.path.steps))
print(consensus.edges_frame()[["parent", "child", "support", "in_consensus"]])
consensus.plot_path()
consensus.plot()

# %% How unsure one table is: every structure within a Bayes factor of 20 of the best.
credible = fb.credible_set(sites["north"], bf=20)
print(credible)
print(len(credible), credible.complete)
print(credible.edges_frame().sort_values("posterior", ascending=False).head())

# %% A structure in other libraries, and how near it is to the truth.
dag = consensus.dag
print(dag.parents("dysp"), dag.to_networkx(), type(dag.to_pgmpy()))
print("SMHD to the truth:", fb.smhd(dag, network.dag.reorder(dag.names)))

# %% The whole federation in one call; `fedbn simulate` runs the same over Flower.
print(fb.simulate(sites, learner="ges", rounds=2, seed=1))
