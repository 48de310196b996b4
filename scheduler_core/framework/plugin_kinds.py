"""The kinds that plugins of scheduler-plugins read: which a configuration needs, and which a cluster has in vain."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from scheduler_core.api.objects import KINDS, Object
from scheduler_core.api.profile import Profile
from scheduler_core.api.scheduler_plugins import READS
from scheduler_core.cluster.formatting import count, listing


def enabled_plugins(profiles: Iterable[Profile]) -> set[str]:
    """Return the names of the plugins that a profile enables."""
    return {name for profile in profiles for point in profile.plugins.values() for name, _ in point}


def kinds_read(profiles: Iterable[Profile]) -> set[str]:
    """Return the kinds of READS that the plugins of profiles read."""
    return {kind for plugin in enabled_plugins(profiles) for kind in READS.get(plugin, ())}


def load_readers(profiles: Iterable[Profile]) -> list[str]:
    """Return the plugins of profiles that score nodes by their measured load."""
    enabled = enabled_plugins(profiles)
    return [plugin for plugin, read in READS.items() if "NodeMetrics" in read and plugin in enabled]


def kind_warnings(profiles: Iterable[Profile], objects: Iterable[Object]) -> list[str]:
    """Return `kind_sentences` for the profiles of a configuration and the objects of a cluster."""
    types = Counter(map(type, objects))
    return kind_sentences(enabled_plugins(profiles), {kind: types[KINDS[kind]] for kind in KINDS})


def kind_sentences(enabled: Collection[str], counts: Mapping[str, int]) -> list[str]:
    """Return sentences about kinds that enabled plugins read and the cluster lacks, with the command that reads them,
    and about kinds whose plugins are not enabled.

    `counts`: kind -> number of objects.
    """
    if loads := counts.get("NodeLoad"):  # of a load watcher: the same measurements
        counts = {**counts, "NodeMetrics": counts.get("NodeMetrics", 0) + loads}
    return [*_missing(enabled, counts), *_unread(enabled, counts)]


def _missing(enabled: Collection[str], counts: Mapping[str, int]) -> Iterator[str]:
    plugins: list[str] = []
    kinds: dict[str, str] = {}
    for plugin, read in READS.items():
        absent = {kind: resource for kind, resource in read.items() if plugin in enabled and not counts.get(kind)}
        if absent:
            plugins.append(plugin)
            kinds |= absent
    if plugins:
        which, what = listing(plugins), listing([f"{kind} objects" for kind in kinds])
        verb = "reads" if len(plugins) == 1 else "read"
        command = f"`kubectl get {','.join(kinds.values())} -A -o json`"
        yield (
            f"The configuration enables {which}, which {verb} {what}: there are none here. If the cluster has them, "
            f"add the output of {command}."
        )


def _unread(enabled: Collection[str], counts: Mapping[str, int]) -> Iterator[str]:
    for kind in dict.fromkeys(kind for read in READS.values() for kind in read):
        readers = [plugin for plugin, read in READS.items() if kind in read]
        if counts.get(kind) and not any(plugin in enabled for plugin in readers):
            verb, them = ("reads", "it") if len(readers) == 1 else ("read", "them")
            yield (
                f"The cluster has {count(counts[kind], kind)}, which only {listing(readers)} {verb}. "
                f"The configuration does not enable {them}."
            )
