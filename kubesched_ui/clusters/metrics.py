"""Metrics of live clusters, for each web process the same."""

from collections.abc import Iterator

from django.db.models import Count, Sum

from kubesched_ui.clusters.models import ChangeBlock, Cluster, HistoryGap
from kubesched_ui.observability.metric_sources import Sample, of_the_database

FAILING = ("retrying", "refused")  # states of a kind


def samples() -> Iterator[Sample]:
    """Yield the metrics of the clusters that the settings name."""
    from kubesched_ui.clusters import queries  # every process loads this module when it starts

    blocks = dict(ChangeBlock.objects.order_by().values_list("cluster").annotate(Sum("size")))
    gaps = dict(HistoryGap.objects.order_by().values_list("cluster").annotate(Count("pk")))
    for cluster in Cluster.everything.filter(configured=True).defer("view", "config", "chosen_config"):
        labels = {"cluster": cluster.name}
        state = queries.follower(cluster)
        following = state.working and state.state == Cluster.State.FOLLOWING
        failing = sum(kind.state in FAILING for kind in queries.kinds(cluster))
        values = {
            "cluster_following": ("Whether the live cluster is followed and complete.", following),
            "cluster_wanted": ("Whether the live cluster is to be followed now.", queries.wanted(cluster)),
            "cluster_lag_seconds": ("Seconds until a change is stored.", cluster.lag_seconds or 0),
            "cluster_analysis_lag_seconds": ("Seconds until a change is analysed.", cluster.analysis_lag_seconds or 0),
            "cluster_judging_lag_seconds": (
                "Seconds until a decision of the cluster's scheduler is checked.",
                cluster.report.get("lag_seconds", 0),
            ),
            "cluster_kinds_failing": ("Watched kinds that are refused or tried again.", failing),
            "cluster_history_bytes": ("Bytes of stored changes.", blocks.get(cluster.pk, 0)),
            "cluster_history_gaps": ("Marked gaps of the stored history.", gaps.get(cluster.pk, 0)),
        }
        for name, (about, value) in values.items():
            yield Sample(name, about, float(value), labels)
        yield Sample("cluster_changes", "Stored changes of the live cluster.", cluster.changes, labels, counter=True)


of_the_database.append(samples)
