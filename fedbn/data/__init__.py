"""Tables in, data sets out: schema, reading and writing, partitions over clients."""
