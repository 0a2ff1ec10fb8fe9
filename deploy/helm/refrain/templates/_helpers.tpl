{{- define "refrain.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- /* At most 40 bytes: a pod's name with what comes behind it is a label of DNS, which has 63. */ -}}
{{- define "refrain.fullname" -}}
{{- $name := include "refrain.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "refrain.selectorLabels" -}}
app.kubernetes.io/name: {{ include "refrain.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "refrain.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "refrain.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* The image of a role. Takes root and gpu, which is match.gpu where the role has a card, and else empty. */ -}}
{{- define "refrain.image" -}}
{{- $image := .root.Values.image -}}
{{- $digest := ternary .gpu.digest $image.digest (not (empty .gpu)) -}}
{{- if $digest -}}
{{- printf "%s@%s" $image.repository $digest -}}
{{- else -}}
{{- printf "%s:%s%s" $image.repository (default .root.Chart.AppVersion $image.tag) (default "" .gpu.tagSuffix) -}}
{{- end -}}
{{- end -}}

{{- /* The resources of a pod, with its cards, which Kubernetes takes as limits. Takes resources and gpu. */ -}}
{{- define "refrain.resources" -}}
{{- $cards := dict -}}
{{- if .gpu }}{{ $cards = dict "limits" (dict .gpu.resource (int .gpu.count)) }}{{ end -}}
{{- toYaml (mergeOverwrite (deepCopy .resources) $cards) -}}
{{- end -}}

{{- define "refrain.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "refrain.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* refrain.yaml: what the user says, and what a pod is like. */ -}}
{{- define "refrain.config" -}}
{{- $fixed := dict "http" "0.0.0.0:8080" "data_dir" "/data" -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $fixed) -}}
{{- end -}}

{{- /* The Secrets whose files a pod has. */ -}}
{{- define "refrain.secrets" -}}
{{- range .Values.secrets.existing }}
- secret: {name: {{ . }}}
{{- end }}
{{- if .Values.secrets.create }}
- secret: {name: {{ include "refrain.fullname" . }}}
{{- end }}
{{- end -}}

{{- define "refrain.metricsSecret" -}}
{{- if .Values.podMonitor.token.name -}}
{{- .Values.podMonitor.token.name -}}
{{- else if .Values.secrets.create -}}
{{- include "refrain.fullname" . -}}
{{- else -}}
{{- first .Values.secrets.existing -}}
{{- end -}}
{{- end -}}

{{- /* The bytes of "8Gi", as Kubernetes writes sizes, or "4GiB", as Refrain does. */ -}}
{{- define "refrain.bytes" -}}
{{- $number := regexFind "^[0-9.]+" (toString .) | float64 -}}
{{- $unit := regexReplaceAll "^[0-9.]+" (toString .) "" | trimSuffix "B" | lower -}}
{{- $of := dict "" 1 "k" 1000 "m" 1000000 "g" 1000000000 "t" 1000000000000 "ki" 1024 "mi" 1048576 "gi" 1073741824 "ti" 1099511627776 -}}
{{- if not (hasKey $of $unit) }}{{ fail (printf "%q: want a size, as 8Gi or 4GB" (toString .)) }}{{ end -}}
{{- mulf $number (get $of $unit) | int64 -}}
{{- end -}}

{{- /* What cannot work is refused here, with what to do. */ -}}
{{- define "refrain.validate" -}}
{{- $t := .Values.config.topics -}}
{{- $kafka := dig "kafka" "brokers" list $t -}}
{{- $nats := dig "nats" "servers" list $t -}}
{{- if not (or $kafka $nats) }}
{{- fail "where are the topics? Set config.topics.kafka.brokers or config.topics.nats.servers" }}
{{- end }}
{{- if and $kafka $nats }}
{{- fail "want one of config.topics.kafka.brokers and config.topics.nats.servers, not both" }}
{{- end }}
{{- if not (or .Values.secrets.existing .Values.secrets.create) }}
{{- fail "there are no secrets. Make one, and name it in secrets.existing: kubectl create secret generic refrain --from-literal=cluster-token=$(openssl rand -hex 24) --from-literal=api-token=$(openssl rand -hex 24) --from-literal=metrics-token=$(openssl rand -hex 24) --from-literal=redis-url=redis://..." }}
{{- end }}
{{- $engine := dig "window" "engine" "" .Values.config -}}
{{- if or (eq $engine "cuda") (and $engine .Values.match.gpu.enabled) }}
{{- fail "workers get cards, and with them the engine cuda, by match.gpu: set match.gpu.enabled, and leave config.window.engine out" }}
{{- end }}
{{- if and .Values.match.gpu.enabled .Values.image.digest (not .Values.match.gpu.digest) }}
{{- fail "image.digest is that of the image without CUDA: set match.gpu.digest to that of the image with it" }}
{{- end }}
{{- $workers := .Values.match.replicas -}}
{{- if .Values.match.autoscaling.enabled }}{{ $workers = .Values.match.autoscaling.maxReplicas }}{{ end -}}
{{- if gt (int $workers) (int $t.partitions) }}
{{- fail (printf "%d workers for %d partitions: more workers than partitions have nothing to do" (int $workers) (int $t.partitions)) }}
{{- end }}
{{- if and .Values.match.autoscaling.enabled (lt (int .Values.match.autoscaling.maxReplicas) (int .Values.match.replicas)) }}
{{- fail "match.autoscaling.maxReplicas is less than match.replicas, with which it begins" }}
{{- end }}
{{- if and .Values.match.autoscaling.enabled (eq .Values.match.autoscaling.kind "keda") (not .Values.match.autoscaling.prometheus) }}
{{- fail "match.autoscaling.prometheus: want the address of the Prometheus that KEDA asks" }}
{{- end }}
{{- $budget := dig "window" "budget" 0 .Values.config -}}
{{- $limit := dig "limits" "memory" "" .Values.match.resources -}}
{{- if and $budget $limit }}
{{- if gt (addf (include "refrain.bytes" $budget) 300000000) (float64 (include "refrain.bytes" $limit)) }}
{{- fail (printf "config.window.budget %v and 300 MB do not fit into match.resources.limits.memory %v" $budget $limit) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Spread over hosts and zones: two workers that die together are two windows to be read back. Takes root, role, own. */ -}}
{{- define "refrain.spread" -}}
{{- if .own }}
{{- toYaml .own }}
{{- else }}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "refrain.selectorLabels" $.root | nindent 6 }}
      app.kubernetes.io/component: {{ $.role }}
{{- end }}
{{- end }}
{{- end -}}

{{- /*
The pod of a role. Takes root, role (of the labels), roles (of Refrain), values (of the role), ready (the path that says whether it
takes part), and data (the volume of /data that is none of a StatefulSet's).
*/ -}}
{{- define "refrain.pod" -}}
{{- $gpu := dict -}}
{{- if dig "gpu" "enabled" false .values }}{{ $gpu = .values.gpu }}{{ end -}}
metadata:
  labels:
    {{- include "refrain.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
    {{- with .root.Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ include "refrain.config" .root | sha256sum }}
    {{- with .root.Values.secrets.create }}
    checksum/secrets: {{ toYaml . | sha256sum }}
    {{- end }}
    {{- with .root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "refrain.serviceAccount" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false # else variables as REFRAIN_PORT would be taken for settings
  terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
  securityContext:
    {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  {{- with .root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $gpu.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- with mergeOverwrite (deepCopy .root.Values.nodeSelector) (default dict $gpu.nodeSelector) }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with concat .root.Values.tolerations (default list $gpu.tolerations) }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    {{- include "refrain.spread" (dict "root" .root "role" .role "own" .values.topologySpreadConstraints) | trim | nindent 4 }}
  containers:
  - name: refrain
    image: {{ include "refrain.image" (dict "root" .root "gpu" $gpu) }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: [serve, --config, /etc/refrain/refrain.yaml]
    ports: [{name: http, containerPort: 8080}]
    env:
    - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: REFRAIN_ROLES, value: {{ .roles | quote }}}
    - {name: REFRAIN_WORKER, value: $(POD)}
    {{- if eq .role "match" }}
    - name: REFRAIN_CLUSTER_ADDRESS
      value: http://$(POD).{{ include "refrain.fullname" .root }}-match.$(NAMESPACE).svc.{{ .root.Values.clusterDomain }}:8080
    {{- end }}
    {{- if $gpu }}
    - {name: REFRAIN_WINDOW_ENGINE, value: cuda} # of these pods alone: they have the windows, and the cards
    {{- end }}
    {{- with .root.Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    securityContext:
      {{- toYaml .root.Values.securityContext | nindent 6 }}
    resources:
      {{- include "refrain.resources" (dict "resources" .values.resources "gpu" $gpu) | nindent 6 }}
    # While the broker is away at the start nothing answers yet. What a worker has to read back it reads behind /livez.
    startupProbe:
      httpGet: {path: /livez, port: http}
      periodSeconds: 5
      timeoutSeconds: 5
      failureThreshold: {{ div (int .values.startupSeconds) 5 }}
    livenessProbe:
      httpGet: {path: /livez, port: http}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      httpGet: {path: {{ .ready }}, port: http}
      periodSeconds: 5
      timeoutSeconds: 5
    volumeMounts:
    - {name: data, mountPath: /data}
    - {name: config, mountPath: /etc/refrain, readOnly: true}
    - {name: secrets, mountPath: /run/secrets/refrain, readOnly: true}
    {{- with .root.Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
  - name: config
    configMap: {name: {{ include "refrain.fullname" .root }}}
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
      {{- include "refrain.secrets" .root | trim | nindent 6 }}
  {{- with .data }}
  - name: data
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /*
How many pods there are to be. An autoscaler's number stays: left out, an upgrade would set it to 1. Takes root, kind, name, min, and
whether it is scaled. What cannot ask the cluster (helm template, Argo CD) has to leave the field alone itself.
*/ -}}
{{- define "refrain.replicas" -}}
{{- $now := 0 -}}
{{- if .scaled -}}
{{- $now = dig "spec" "replicas" 0 (lookup "apps/v1" .kind .root.Release.Namespace .name) -}}
{{- end -}}
{{- max (int .min) (int $now) -}}
{{- end -}}

{{- /* A Deployment with its Service, budget and autoscaler. Takes what refrain.pod does. */ -}}
{{- define "refrain.deployment" -}}
{{- $name := printf "%s-%s" (include "refrain.fullname" .root) .role -}}
{{- $scaled := dig "autoscaling" "enabled" false .values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels:
    {{- include "refrain.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  replicas: {{ include "refrain.replicas" (dict "root" .root "kind" "Deployment" "name" $name "min" .values.replicas "scaled" $scaled) }}
  selector:
    matchLabels:
      {{- include "refrain.selectorLabels" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
  template:
    {{- include "refrain.pod" . | nindent 4 }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels:
    {{- include "refrain.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  {{- with .values.service.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .values.service.type }}
  selector:
    {{- include "refrain.selectorLabels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  ports: [{name: http, port: {{ .values.service.port }}, targetPort: http}]
---
{{- include "refrain.pdb" . }}
{{- if $scaled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels:
    {{- include "refrain.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ $name }}}
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: {{ .values.autoscaling.cpuUtilization }}}}
{{- end }}
{{- end -}}

{{- /* Takes root, role and values. */ -}}
{{- define "refrain.pdb" -}}
{{- if .values.pdb.enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "refrain.fullname" .root }}-{{ .role }}
  labels:
    {{- include "refrain.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  maxUnavailable: {{ .values.pdb.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "refrain.selectorLabels" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
{{- end }}
{{- end -}}
