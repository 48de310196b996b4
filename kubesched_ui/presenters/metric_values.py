"""Values of metrics as text."""

from collections.abc import Mapping

from scheduler_core.cluster.formatting import amount
from scheduler_core.metrics.catalog import metric_of


def metric_title(name: str, direction: bool = False) -> str:
    """Return the title of a metric, with `direction` and which values are better."""
    metric = metric_of(name)
    return f"{metric.title} ({metric.better} is better)" if direction and metric.better else metric.title


def metric_text(name: str, value: float | None) -> str:
    """Return a value with its unit; a dash if there is none."""
    if value is None:
        return "–"
    unit = metric_of(name).unit
    if unit == "share":
        return f"{100 * value:.1f}%"
    if name.startswith("stranded:"):
        return amount(name.partition(":")[2], round(value))
    digits = 0 if value == round(value) else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}{' ' + unit if unit else ''}"


def mean_text(name: str, of: Mapping[str, float] | None) -> str:
    """Return the mean and, unless it is 0, the standard deviation: `12.5 ± 0.7`."""
    if of is None:
        return "–"
    deviation = of["stddev"]
    return metric_text(name, of["mean"]) + (f" ± {metric_text(name, deviation)}" if deviation else "")


def plotted(name: str, value: float) -> float:
    """Return the number that a chart shows: percent of a share, cores of cpu and Gi of memory."""
    return value * _scale(name)


def plotted_title(name: str) -> str:
    """Return the title of an axis."""
    metric = metric_of(name)
    unit = {"stranded:cpu": "cores", "stranded:memory": "Gi"}.get(name) or {"share": "%"}.get(metric.unit, metric.unit)
    title = f"{metric.title}, {unit}" if unit else metric.title
    return f"{title} ({metric.better} is better)" if metric.better else title


def _scale(name: str) -> float:
    if metric_of(name).unit == "share":
        return 100
    return {"stranded:cpu": 1 / 1000, "stranded:memory": 1 / (1 << 30)}.get(name, 1)
