"""Two learners, a score and a fusion for fedbn, each in a module of its own."""
