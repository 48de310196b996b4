"""Values of metrics as text."""

from collections.abc import Mapping

from kubesched_ui.presenters.experiment_charts import escape
from scheduler_core.cluster.formatting import amount
from scheduler_core.metrics.catalog import metric_of


def metric_title(name: str, direction: bool = False) -> str:
    """Return the title of a metric, with `direction` and which values are better."""
    metric = metric_of(name)
    return f"{metric.title} ({metric.better} is better)" if direction and metric.better else metric.title


def cell_metric_title(name: str) -> str:
    """Return the title of a metric of a cell; the name of one that only a question has, in words."""
    try:
        return metric_of(name).title
    except KeyError:
        return name.replace("_", " ").replace(":", " ").capitalize()


def cell_metric_text(name: str, value: float | None) -> str:
    """Return a metric of a cell with its unit; a dash if there is none."""
    if value is None:
        return "–"
    try:
        return metric_text(name, value)
    except KeyError:  # of a question only
        if name == "gap":
            return f"{_number(100 * value)}%"
        return f"{value:.2g}" if 0 < abs(value) < 0.01 else _number(value)


def metric_text(name: str, value: float | None) -> str:
    """Return a value with its unit; a dash if there is none."""
    if value is None:
        return "–"
    if name in ("stranded:memory", "stranded:ephemeral-storage"):
        return amount(name.partition(":")[2], round(value))
    return f"{_number(plotted(name, value))}{_unit(name)}"


def mean_text(name: str, of: Mapping[str, float] | None) -> str:
    """Return the mean and, unless it rounds to 0, the standard deviation: `12.5 ± 0.70 s`."""
    if of is None:
        return "–"
    mean, unit = metric_text(name, of["mean"]), _unit(name)
    if float(_number(plotted(name, of["stddev"])).replace(",", "")) == 0:
        return mean
    deviation = metric_text(name, of["stddev"])
    return f"{mean.removesuffix(unit)} ± {deviation}" if unit else f"{mean} ± {deviation}"


def _number(value: float) -> str:
    size = abs(value)
    return f"{value:,.{0 if size >= 1000 or size == round(size) else 1 if size >= 10 else 2}f}"


def _unit(name: str) -> str:
    """Return the unit as it follows a number."""
    unit = _unit_of(name)
    return unit if unit in ("", "%") else f" {unit}"


def _unit_of(name: str) -> str:
    unit = metric_of(name).unit
    return {"stranded:cpu": "cores", "stranded:memory": "Gi"}.get(name) or {"share": "%"}.get(unit, unit)


def plotted(name: str, value: float) -> float:
    """Return the number that a chart shows: percent of a share, cores of cpu and Gi of memory."""
    scale = {"stranded:cpu": 1 / 1000, "stranded:memory": 1 / (1 << 30)}.get(name, 1)
    return value * (100 if metric_of(name).unit == "share" else scale)


def plotted_title(name: str) -> str:
    """Return the title of an axis, as the HTML that Plotly reads."""
    metric, unit = metric_of(name), _unit_of(name)
    title = escape(f"{metric.title}, {unit}" if unit else metric.title)
    return f"{title}<br>({metric.better} is better)" if metric.better else title
