"""Every exception that fedbn raises on purpose.

    FedbnError
     |- StructureError   (ValueError)   a graph is not what it must be: a cycle, an unknown node
     |- DataError        (ValueError)   a table cannot be used: missing cells, duplicate columns
     |- SchemaError      (ValueError)   columns or states differ from what was agreed
     |- NetworkError     (ValueError)   a Bayesian network cannot be read, found or sampled
     |- QueryError       (ValueError)   a question to a network cannot be answered
     |   `- ImpossibleEvidenceError       because what was observed has probability 0
     |- ConfigError      (ValueError)   a setting is unknown or out of range
     |- MessageError     (ValueError)   a message of another party is refused
     |- PolicyError      (RuntimeError) a site's own policy does not let this leave
     |- ContractError    (ValueError)   a site's table is not prepared as its file says
     |- QuorumError      (RuntimeError) too few good replies to go on
     |- SearchError      (RuntimeError) a search cannot do what was asked
     |- PluginError      (RuntimeError) a learner, score or fusion of somebody else failed
     |- FlowerRunError   (RuntimeError) Flower's own processes failed
     |- MissingExtraError (ImportError) an optional part of fedbn is not installed
     `- ResultsError     (OSError)      results cannot be read or written

    FedbnWarning (UserWarning)          something that a user should know, but that stops nothing
     `- TableWarning                    the same of one table

A message states what must hold and shows the offending value.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from fedbn.wording import reason_of


class FedbnError(Exception):
    """The root: catch it to catch whatever fedbn raises on purpose."""


class StructureError(FedbnError, ValueError):
    """A graph is not what it must be."""


class ArgumentError(FedbnError, ValueError):
    """Arguments of a compiled function do not fit together."""


class DataError(FedbnError, ValueError):
    """A table cannot be used as it is."""


class SchemaError(FedbnError, ValueError):
    """Columns or states differ from what was agreed."""


class NetworkError(FedbnError, ValueError):
    """A Bayesian network cannot be read, found or sampled."""


class QueryError(FedbnError, ValueError):
    """A question to a network cannot be answered."""


class ImpossibleEvidenceError(QueryError):
    """What was observed has probability 0 under the network."""


class ConfigError(FedbnError, ValueError):
    """A setting is unknown or out of its range."""


class MessageError(FedbnError, ValueError):
    """A message of another party is refused."""


class PolicyError(FedbnError, RuntimeError):
    """A site's own policy does not let this leave; the reason code is all that the site says."""


class ContractError(FedbnError, ValueError):
    """A site's table was not prepared, or not as its file says now."""


class VersionError(FedbnError, RuntimeError):
    """Two parties have different versions of fedbn; the text names both and nothing else."""


class QuorumError(FedbnError, RuntimeError):
    """Too few good replies remain to go on."""


class SearchError(FedbnError, RuntimeError):
    """A search cannot do what was asked."""


class PluginError(FedbnError, RuntimeError):
    """A learner, score or fusion that is not fedbn's failed; the message names it."""


class FlowerRunError(FedbnError, RuntimeError):
    """Flower's own processes failed."""


class MissingExtraError(FedbnError, ImportError):
    """An optional part of fedbn is not installed; the message names the extra."""


class ResultsError(FedbnError, OSError):
    """Results cannot be read or written."""


class FedbnWarning(UserWarning):
    """Something that a user should know, but that stops nothing."""


class TableWarning(FedbnWarning):
    """The same of one table; its text begins with the table's source and a colon."""


@contextmanager
def system_errors_as(kind: type[FedbnError], words: str) -> Iterator[None]:
    """Inside, what the system refuses of a file, and bytes that are no UTF-8 text, become an error
    of this kind: the words, and why. Errors of fedbn's own stay what they are.

    >>> with system_errors_as(ConfigError, "cannot read a.toml"):
    ...     open("/no/such/folder/a.toml")
    Traceback (most recent call last):
        ...
    fedbn.errors.ConfigError: cannot read a.toml: No such file or directory
    """
    try:
        yield
    except FedbnError:  # a ResultsError is an OSError
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise kind(f"{words}: {reason_of(error)}") from None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error's text that names the known word nearest to an unknown one, if one is.

    >>> did_you_mean("GES", ["ges", "xges"])
    "; did you mean 'ges'?"
    >>> did_you_mean("volcano", ["ges", "xges"])
    ''
    """
    import difflib

    lower = {each.lower(): each for each in known}
    nearest = difflib.get_close_matches(word.lower(), lower, n=1, cutoff=0.5)
    return f"; did you mean {lower[nearest[0]]!r}?" if nearest else ""
