"""Pods that the API server must refuse, as jobs' templates may ask for them: what to change, and what is said of it."""

from support.manifests import ABSENT, Manifest

GOOD: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "worker"},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "demo",
                "env": [{"name": "RANK", "value": "0"}],
                "ports": [{"containerPort": 36000}],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }
        ],
        "volumes": [{"name": "data"}],
    },
}
MAIN = "spec.containers.0"
FIRST = "spec.containers[0]"
INIT: Manifest = {"name": "first", "image": "demo"}
GPU = "nvidia.com/gpu"
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)

# By what is wrong: the change, and the words of the refusal.
REFUSED_PODS: dict[str, tuple[Manifest, str]] = {
    # containers
    "no containers": ({"spec.containers": []}, "spec.containers: Required value"),
    "a container without a name": ({f"{MAIN}.name": ABSENT}, f"{FIRST}.name: Required value"),
    "a container's name with capitals": ({f"{MAIN}.name": "Main"}, f'{FIRST}.name: Invalid value: "Main": {LABEL}'),
    "a container's name with a dot": ({f"{MAIN}.name": "a.b"}, f'{FIRST}.name: Invalid value: "a.b": must not contain'),
    "a container's name that is too long": ({f"{MAIN}.name": "m" * 64}, "must be no more than 63 characters"),
    "a container without an image": ({f"{MAIN}.image": ABSENT}, f"{FIRST}.image: Required value"),
    "a name for two containers": (
        {"spec.initContainers": [{**INIT, "name": "main"}]},
        'spec.initContainers[0].name: Duplicate value: "main"',
    ),
    "a pull policy that there is not": (
        {f"{MAIN}.imagePullPolicy": "Sometimes"},
        'Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
    ),
    # volumes
    "a mount of no volume": (
        {f"{MAIN}.volumeMounts.0.name": "nowhere"},
        f'{FIRST}.volumeMounts[0].name: Not found: "nowhere"',
    ),
    "a mount nowhere": ({f"{MAIN}.volumeMounts.0.mountPath": ABSENT}, f"{FIRST}.volumeMounts[0].mountPath: Required"),
    "two mounts in one place": (
        {f"{MAIN}.volumeMounts": [{"name": "data", "mountPath": "/data"}] * 2},
        f'{FIRST}.volumeMounts[1].mountPath: Invalid value: "/data": must be unique',
    ),
    "a path inside of a volume that leads out of it": (
        {f"{MAIN}.volumeMounts.0.subPath": "../other"},
        f"{FIRST}.volumeMounts.subPath: Invalid value: \"../other\": must not contain '..'",
    ),
    "two volumes of one name": (
        {"spec.volumes": [{"name": "data", "emptyDir": {}}, {"name": "data", "emptyDir": {}}]},
        'spec.volumes[1].name: Duplicate value: "data"',
    ),
    "a volume of two types": (
        {"spec.volumes.0": {"name": "data", "emptyDir": {}, "hostPath": {"path": "/data"}}},
        "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
    ),
    "a ConfigMap without a name": (
        {"spec.volumes.0.configMap": {}},
        "spec.volumes[0].configMap.name: Required value",
    ),
    "a Secret without a name": ({"spec.volumes.0.secret": {}}, "spec.volumes[0].secret.secretName: Required value"),
    "a directory of the node above itself": (
        {"spec.volumes.0.hostPath": {"path": "/data/../etc"}},
        "spec.volumes[0].hostPath.path: Invalid value: \"/data/../etc\": must not contain '..'",
    ),
    # variables
    "a variable without a name": ({f"{MAIN}.env": [{"value": "0"}]}, f"{FIRST}.env[0].name: Required value"),
    "a variable's name that assigns": (
        {f"{MAIN}.env.0.name": "A=B"},
        f'{FIRST}.env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable',
    ),
    "a value and where it is from": (
        {f"{MAIN}.env.0.valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        f'{FIRST}.env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
    ),
    "a value from nowhere": (
        {f"{MAIN}.env.0": {"name": "RANK", "valueFrom": {}}},
        f'{FIRST}.env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`',
    ),
    "a value from a field that there is not": (
        {f"{MAIN}.env.0": {"name": "RANK", "valueFrom": {"fieldRef": {"fieldPath": "metadata.rank"}}}},
        "error converting fieldPath: field label not supported: metadata.rank",
    ),
    "a value from a field that cannot be one": (
        {f"{MAIN}.env.0": {"name": "RANK", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}}},
        'Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace"',
    ),
    "variables from nowhere": (
        {f"{MAIN}.envFrom": [{}]},
        f'{FIRST}.envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
    ),
    # ports
    "a container's port that there is not": (
        {f"{MAIN}.ports.0.containerPort": 70000},
        f"{FIRST}.ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ),
    "a name for two ports": (
        {f"{MAIN}.ports": [{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]},
        f'{FIRST}.ports[1].name: Duplicate value: "a"',
    ),
    "a protocol that there is not": (
        {f"{MAIN}.ports.0.protocol": "HTTP"},
        'Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
    ),
    # resources
    "more than the limit": (
        {f"{MAIN}.resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        f'{FIRST}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ),
    "GPUs without a limit": (
        {f"{MAIN}.resources": {"requests": {GPU: "1"}}},
        f"{FIRST}.resources.limits: Required value: Limit must be set for non overcommitable resources",
    ),
    "fewer GPUs than the limit": (
        {f"{MAIN}.resources": {"requests": {GPU: "1"}, "limits": {GPU: "2"}}},
        f'{FIRST}.resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
    ),
    "a resource that there is not": (
        {f"{MAIN}.resources": {"limits": {"gpu": "1"}}},
        f'{FIRST}.resources.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
    ),
    # probes
    "a probe of nothing": (
        {f"{MAIN}.readinessProbe": {"periodSeconds": 1}},
        f"{FIRST}.readinessProbe: Required value: must specify a handler type",
    ),
    "a probe in two ways": (
        {f"{MAIN}.livenessProbe": {"exec": {"command": ["true"]}, "tcpSocket": {"port": 80}}},
        f"{FIRST}.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
    ),
    "a probe of a container that ends": (
        {"spec.initContainers": [{**INIT, "livenessProbe": {"exec": {"command": ["true"]}}}]},
        "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without",
    ),
    # the pod
    "a hostname with a dot": ({"spec.hostname": "a.b"}, 'spec.hostname: Invalid value: "a.b": must not contain dots'),
    "a subdomain with capitals": ({"spec.subdomain": "Team"}, f'spec.subdomain: Invalid value: "Team": {LABEL}'),
}
# What other words say, by their error's kind: a class of pods that nobody made, and what cannot be read at all.
REFUSED_OTHERWISE: dict[str, tuple[Manifest, str]] = {
    "a priority that there is not": (
        {"spec.priorityClassName": "nowhere"},
        'pods "worker" is forbidden: no PriorityClass with name nowhere was found',
    ),
    "a quantity that is none": (
        {f"{MAIN}.resources": {"limits": {"memory": "much"}}},
        'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression',
    ),
}
# What looks like a mistake and is none.
TAKEN_PODS: dict[str, Manifest] = {
    "a variable that is named twice": {f"{MAIN}.env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
    "a port that is named twice": {f"{MAIN}.ports": [{"containerPort": 80}] * 2},
    "a priority of the system's": {"spec.priorityClassName": "system-node-critical"},
    "a volume that says nothing of itself": {},
}
