"""Data of a wait: plain structs, ready for JSON."""

from scheduler_core.api.text_checks import escaped
from scheduler_core.explain.answer import Part
from scheduler_core.stations.resource_quotas import ResourceQuotaUse

NOT_CREATED = "not-created"
ADMISSION = "admission"
GROUP = "group"
CLAIMS = "claims"
SCHEDULER = "scheduler"
NODE_COMING = "node-coming"
AUTOSCALER_REFUSED = "autoscaler-refused"
STARTING = "starting"

MOST_FACTS = 5  # texts of a wait
MOST_CHARACTERS = 600  # of a text
MOST_READ = 4_000  # characters of a message that are examined


class Wait(Part):
    """Where a pod, or a workload without pods, waits.

    `station`: one of the names above. `sentence`: for what; "" if it is the scheduler's answer. `says`: facts, and what
    components wrote about them. `writer`: the component that says so, "" if only objects do. `since`: Unix seconds; 0
    if unknown. `cause`: an identifier for clients. `leads`: whether `sentence` stands before the scheduler's answer and
    does not replace it. `quotas`: the ResourceQuotas that refuse its pods. `common`: the sentence without what differs
    between equal pods, such as their nodes; "" if nothing does.
    """

    station: str
    sentence: str = ""
    says: list[str] = []
    writer: str = ""
    since: float = 0.0
    cause: str = ""
    leads: bool = False
    quotas: list[ResourceQuotaUse] = []
    common: str = ""


class ClaimWait(Part):
    """A claim that a pod waits for.

    `cause`: `missing`, `lost`, `deleted`, `no-class`, `class-missing`, `no-provisioner`, `immediate` (its provisioner
    has not created the volume), `provisioning` (the same, for the pod's node), `waits-for-volume` (that it names) or
    `waits-for-consumer` (it is bound with the pod).
    """

    claim: str
    cause: str
    sentence: str
    storage_class: str = ""


STRIP = {
    NOT_CREATED: "created",
    ADMISSION: "admission",
    GROUP: "group",
    CLAIMS: "claims",
    NODE_COMING: "node",
    AUTOSCALER_REFUSED: "node",
    SCHEDULER: "scheduler",
    STARTING: "starting",
}
"""Station -> its stop of the strip, in the order of the strip."""


def bounded(wait: Wait) -> Wait:
    """Escape and shorten the texts of a wait, which quote what components and users wrote."""
    wait.sentence, wait.common = (escaped(text[:MOST_READ]) for text in (wait.sentence, wait.common))
    wait.says = [escaped(text[:MOST_READ]) for text in wait.says[:MOST_FACTS]]
    return wait


def quoted(text: str) -> str:
    """Return a bounded text of a component for pages and terminals, in one line and without its last full stop."""
    return escaped(" ".join(text[:MOST_CHARACTERS].split())).rstrip(".")
