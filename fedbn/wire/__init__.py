"""How values travel between parties: a format declares its fields once, one codec does the rest.

    arrays     a message of arrays: type, shape and bounds of each
    texts      a frozen dataclass as canonical JSON
    records    a few texts, numbers and truth values by name
    npy        arrays from bytes that nobody vouches for

Whoever receives something trusts none of it: what is not as its format says is refused by a
MessageError that shows the first thing that is wrong.
"""
