"""The columns of pods, which no field of theirs says as `kubectl get pods` does."""

from paddle_operator.api.manifest import Manifest

COLUMNS: tuple[Manifest, ...] = (
    {"name": "Ready", "type": "string"},
    {"name": "Status", "type": "string"},
    {"name": "Restarts", "type": "string"},
    {"name": "IP", "type": "string", "priority": 1},
    {"name": "Node", "type": "string", "priority": 1},
)


def cells(pod: Manifest) -> list[str]:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    main: list[Manifest] = status.get("containerStatuses") or []
    ready = sum(bool(found.get("ready")) for found in main)
    restarts = sum(int(found.get("restartCount") or 0) for found in main)
    return [
        f"{ready}/{len(spec.get('containers') or [])}",
        word(pod),
        str(restarts),
        str(status.get("podIP") or "<none>"),
        str(spec.get("nodeName") or "<none>"),
    ]


def word(pod: Manifest) -> str:
    """Say in one word how a pod stands, and why not better."""
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    status = pod.get("status") or {}
    phase = str(status.get("reason") or status.get("phase") or "Unknown")
    first: list[Manifest] = status.get("initContainerStatuses") or []
    done = sum((found["state"].get("terminated") or {}).get("exitCode") == 0 for found in first)
    if first and done < len(first):
        reasons = [reason for found in first if (reason := _reason(found)) not in ("", "Completed", "PodInitializing")]
        return f"Init:{reasons[0]}" if reasons else f"Init:{done}/{len(first)}"
    reasons = [reason for found in status.get("containerStatuses") or [] if (reason := _reason(found))]
    running = any("running" in found["state"] for found in status.get("containerStatuses") or [])
    if reasons and not (running and reasons[0] == "Completed"):
        return reasons[0]
    return phase


def _reason(container: Manifest) -> str:
    state = container["state"]
    return str((state.get("waiting") or state.get("terminated") or {}).get("reason") or "")
