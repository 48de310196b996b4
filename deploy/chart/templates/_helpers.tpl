{{- define "kubesched.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "kubesched.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kubesched.labels" -}}
{{ include "kubesched.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "kubesched.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "kubesched.name" .) "default") }}
{{- end }}

{{- define "kubesched.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "kubesched.serviceAccount" . }}
    namespace: {{ .Release.Namespace }}
{{- end }}

{{- /* The clusters that users can open: those of the values, or one for each namespace with rights. */}}
{{- define "kubesched.clusters" -}}
{{- $clusters := .Values.clusters }}
{{- if not $clusters }}
{{- range .Values.rbac.namespaces }}
{{- $clusters = append $clusters (dict "name" . "inCluster" true "namespace" .) }}
{{- end }}
{{- end }}
{{- if $clusters }}{{ dict "clusters" $clusters | toYaml }}{{ end }}
{{- end }}

{{- /* The rights of system:kube-scheduler without its writes, and what answers about pending pods need. */}}
{{- define "kubesched.namespacedRules" -}}
- apiGroups: [""]
  resources:
    - events
    - limitranges
    - persistentvolumeclaims
    - pods
    - replicationcontrollers
    - resourcequotas
    - services
  verbs: [get, list, watch]
- apiGroups: [apps]
  resources: [daemonsets, deployments, replicasets, statefulsets]
  verbs: [get, list, watch]
- apiGroups: [batch]
  resources: [jobs, cronjobs]
  verbs: [get, list, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch]
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims]
  verbs: [get, list, watch]
- apiGroups: [scheduling.k8s.io]
  resources: [podgroups, workloads]
  verbs: [get, list, watch]
- apiGroups: [storage.k8s.io]
  resources: [csistoragecapacities]
  verbs: [get, list, watch]
# Of plugins of scheduler-plugins. A cluster without these kinds is not affected.
- apiGroups: [scheduling.sigs.k8s.io, scheduling.x-k8s.io]
  resources: [elasticquotas, podgroups]
  verbs: [get, list, watch]
- apiGroups: [appgroup.diktyo.x-k8s.io]
  resources: [appgroups]
  verbs: [get, list, watch]
- apiGroups: [networktopology.diktyo.x-k8s.io]
  resources: [networktopologies]
  verbs: [get, list, watch]
- apiGroups: [security-profiles-operator.x-k8s.io]
  resources: [seccompprofiles]
  verbs: [get, list, watch]
# Of those who decide before or after the scheduler. A cluster without these kinds is not affected.
- apiGroups: [kueue.x-k8s.io]
  resources: [localqueues, workloads]
  verbs: [get, list, watch]
- apiGroups: [autoscaling.x-k8s.io]
  resources: [provisioningrequests]
  verbs: [get, list, watch]
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets]
  verbs: [get, list, watch]
- apiGroups: [leaderworkerset.x-k8s.io]
  resources: [leaderworkersets]
  verbs: [get, list, watch]
- apiGroups: [scheduling.run.ai]
  resources: [podgroups]
  verbs: [get, list, watch]
- apiGroups: [scheduling.volcano.sh]
  resources: [podgroups]
  verbs: [get, list, watch]
{{- end }}
