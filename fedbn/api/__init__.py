"""What `import fedbn as fb` gives at a notebook: tables in, frozen results out.

    sites = {name: fb.Table.from_pandas(frame) for name, frame in frames.items()}
    learned = fb.learn(sites["north"], "xges", score="bdeu", seed=1)
    fused = fb.fuse({name: fb.learn(table) for name, table in sites.items()})
    credible = fb.credible_set(sites["north"], bf=20)
    simulated = fb.simulate(sites, learner="ges")

Everything here calls the other rooms of the library and adds no method of its own. A seed is an
int; the same seed gives the same result. Results are frozen, print in one line, and turn into
pandas frames (`..._frame`) and matplotlib axes (`plot...`) when asked.
"""
