"""Kinds that only live clusters have: uploads ignore them, and the scheduler does not read them.

Source: k8s.io/api (core/v1, apps/v1, batch/v1, resource/v1, scheduling/v1alpha2).
"""

import msgspec

from scheduler_core.api.objects import (
    KINDS,
    Condition,
    LabelSelector,
    Object,
    ObjectReference,
    Quantities,
    Struct,
)
from scheduler_core.live import neighbours


class EventSeries(Struct):
    """The repetitions of an event."""

    count: int = 0
    last_observed_time: str = ""


class EventSource(Struct):
    """The writer of an event that was created as one of core/v1."""

    component: str = ""


class Event(Object):
    """An event of core/v1. The message of a series is that of its first event."""

    involved_object: ObjectReference = msgspec.field(default_factory=ObjectReference)
    related: ObjectReference | None = None
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int = 0
    series: EventSeries | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    reporting_component: str = ""
    source: EventSource | None = None

    @property
    def reporter(self) -> str:
        """The component that wrote the event; "" if unknown.

        An event created in events.k8s.io has reportingComponent and an empty source. One created in core/v1 has
        source.component and not always reportingComponent.
        """
        return self.reporting_component or (self.source.component if self.source is not None else "")

    @property
    def time(self) -> str:
        """When the event occurred last, as RFC 3339; "" if unknown."""
        series = self.series.last_observed_time if self.series is not None else ""
        times = (series, self.last_timestamp, self.event_time, self.first_timestamp, self.metadata.creation_timestamp)
        return next((time for time in times if time), "")


class ScopeSelectorRequirement(Struct):
    scope_name: str = ""
    operator: str = ""
    values: list[str] = []


class ScopeSelector(Struct):
    match_expressions: list[ScopeSelectorRequirement] = []


class ResourceQuotaSpec(Struct):
    hard: Quantities = {}
    scopes: list[str] = []
    scope_selector: ScopeSelector | None = None


class ResourceQuotaStatus(Struct):
    hard: Quantities = {}
    used: Quantities = {}


class ResourceQuota(Object):
    spec: ResourceQuotaSpec = msgspec.field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus = msgspec.field(default_factory=ResourceQuotaStatus)


class LimitRangeItem(Struct):
    type: str = ""
    min: Quantities = {}
    max: Quantities = {}
    default: Quantities = {}
    default_request: Quantities = {}
    max_limit_request_ratio: Quantities = {}


class LimitRangeSpec(Struct):
    limits: list[LimitRangeItem] = []


class LimitRange(Object):
    spec: LimitRangeSpec = msgspec.field(default_factory=LimitRangeSpec)


class OwnerSpec(Struct):
    """`replicas`: of a Deployment. `parallelism`, `completions`, `suspend`: of a Job. `paused`: of a Deployment."""

    selector: LabelSelector | None = None
    replicas: int | None = None
    paused: bool = False
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool = False


class OwnerStatus(Struct):
    """The counts of a Deployment, a DaemonSet or a Job."""

    replicas: int = 0
    unavailable_replicas: int = 0
    desired_number_scheduled: int = 0
    current_number_scheduled: int = 0
    active: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    conditions: list[Condition] = []


class OwnerWorkload(Object):
    spec: OwnerSpec = msgspec.field(default_factory=OwnerSpec)
    status: OwnerStatus = msgspec.field(default_factory=OwnerStatus)


class Deployment(OwnerWorkload):
    pass


class DaemonSet(OwnerWorkload):
    pass


class Job(OwnerWorkload):
    pass


class JobTemplate(Struct):
    spec: OwnerSpec = msgspec.field(default_factory=OwnerSpec)


class CronJobSpec(Struct):
    suspend: bool = False
    job_template: JobTemplate = msgspec.field(default_factory=JobTemplate)


class CronJobStatus(Struct):
    """`active`: its Jobs that have not finished. `last_schedule_time`: the last time for which it created one."""

    active: list[ObjectReference] = []
    last_schedule_time: str = ""


class CronJob(Object):
    spec: CronJobSpec = msgspec.field(default_factory=CronJobSpec)
    status: CronJobStatus = msgspec.field(default_factory=CronJobStatus)


class WorkloadReference(Struct):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadControllerSpec(Struct):
    controller_ref: WorkloadReference | None = None


class LiveWorkload(Object):
    """A Workload of scheduling.k8s.io: the controller whose pods form pod groups."""

    spec: WorkloadControllerSpec = msgspec.field(default_factory=WorkloadControllerSpec)


TYPES: dict[str, type[Object]] = {
    **KINDS,
    **{cls.__name__: cls for cls in (Event, ResourceQuota, LimitRange, Deployment, DaemonSet, Job, CronJob)},
    "Workload": LiveWorkload,
    **neighbours.TYPES,
}
"""The type of each kind of a live cluster, by its name in `scheduler_core.live.kinds.KINDS`."""
