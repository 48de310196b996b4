"""The schema of a KubeSchedulerConfiguration file. Unknown fields are errors.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go and its older versions.
"""

from typing import Any

import msgspec
from msgspec import structs

from scheduler_core.api.plugin_args import Int32, Int64, Strict

GROUP = "kubescheduler.config.k8s.io"
KIND = "KubeSchedulerConfiguration"
POLICY = "Policy"  # the predecessor of KubeSchedulerConfiguration
DEFAULT_SCHEDULER = "default-scheduler"

READ_BY = {"v1": "1.25 and newer", "v1beta3": "1.23 to 1.28", "v1beta2": "1.22 to 1.27", "v1beta1": "1.19 to 1.22"}
"""API version -> the kube-scheduler releases that support it."""

ALPHA = ("v1alpha2", "v1alpha1")
"""API versions that only their own releases support: newer ones refuse them."""

_NO_PROFILES = "it has no profiles, and what its algorithmSource names must be written as one"
TOO_OLD = {
    f"{GROUP}/v1alpha2": ("1.18", f"its fields are nearly those of {GROUP}/v1beta1, which may be written instead"),
    f"{GROUP}/v1alpha1": ("1.12 to 1.18", _NO_PROFILES),
    "componentconfig/v1alpha1": ("1.11 and older", _NO_PROFILES),
}
"""API version that later releases refuse -> (the releases that support it, advice)."""

ONLY_IN = {
    "bindTimeoutSeconds": ("v1alpha2",),
    "delayCacheUntilActive": ("v1",),
    "disablePreemption": ("v1alpha2",),
    "healthzBindAddress": ("v1alpha2", "v1beta1", "v1beta2"),
    "metricsBindAddress": ("v1alpha2", "v1beta1", "v1beta2"),
    "parallelism": ("v1", "v1beta3", "v1beta2", "v1beta1"),
    "profiles.percentageOfNodesToScore": ("v1",),
    "profiles.plugins.multiPoint": ("v1", "v1beta3", "v1beta2"),
    "profiles.plugins.placementGenerate": ("v1",),
    "profiles.plugins.placementScore": ("v1",),
    "profiles.plugins.preEnqueue": ("v1", "v1beta3", "v1beta2"),
    "profiles.plugins.postFilter": ("v1", "v1beta3", "v1beta2", "v1beta1"),
    "profiles.plugins.unreserve": ("v1alpha2", "v1beta1"),
}
"""Fields that not all API versions have."""

SINCE = dict.fromkeys(("profiles.plugins.placementGenerate", "profiles.plugins.placementScore"), "1.36")
"""Fields that an API version got later: field -> the first release that reads it."""


class ExtenderManagedResource(Strict, frozen=True, kw_only=True):
    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(Strict, frozen=True, kw_only=True):
    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class Extender(Strict, frozen=True, kw_only=True):
    """An external program that the scheduler calls. Loading a configuration never calls it, and drops its TLS keys."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    bind_verb: str = ""
    weight: Int64 = 0
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: str = ""
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class LeaderElectionSection(Strict, frozen=True, kw_only=True):
    leader_elect: bool = True
    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"
    resource_lock: str = "leases"
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnectionSection(Strict, frozen=True, kw_only=True):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 50.0
    burst: Int32 = 100


class Plugin(Strict, frozen=True, kw_only=True):
    """An entry of `enabled` or `disabled`; a weight of 0 counts as missing."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(Strict, frozen=True, kw_only=True):
    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class PluginsSection(Strict, frozen=True, kw_only=True):
    multi_point: PluginSet = PluginSet()
    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    unreserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def by_point(self) -> dict[str, PluginSet]:
        return {field.encode_name: getattr(self, field.name) for field in structs.fields(self)}


class PluginConfigSection(Strict, frozen=True, kw_only=True):
    name: str = ""
    args: dict[str, Any] = {}


class ProfileSection(Strict, frozen=True, kw_only=True):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: PluginsSection = PluginsSection()
    plugin_config: tuple[PluginConfigSection, ...] = ()


class File(Strict, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    parallelism: Int32 = 16
    leader_election: LeaderElectionSection = LeaderElectionSection()
    client_connection: ClientConnectionSection = ClientConnectionSection()
    healthz_bind_address: str = ""
    metrics_bind_address: str = ""
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[ProfileSection, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
    disable_preemption: bool = False
    bind_timeout_seconds: Int64 = 600
