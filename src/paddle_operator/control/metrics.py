"""What the manager counts about itself."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._reconciles = Counter(
            "controller_reconciles", "Reconciles by how they ended", ["controller", "result"], registry=self.registry
        )
        self._durations = Histogram(
            "controller_reconcile_duration_seconds",
            "How long a reconcile takes",
            ["controller"],
            registry=self.registry,
        )
        self._retries = Counter(
            "controller_retries", "Keys put back after a failure", ["controller"], registry=self.registry
        )
        self._left_out = Counter(
            "controller_objects_left_out",
            "Objects that a controller's own function could not read",
            ["controller"],
            registry=self.registry,
        )
        self._depth = Gauge(
            "controller_queue_depth", "Keys that are due and wait", ["controller"], registry=self.registry
        )
        self._restarts = Counter(
            "kube_watch_restarts", "Watches that broke and began again", ["resource"], registry=self.registry
        )
        self._skipped = Counter(
            "kube_objects_skipped", "Objects left out because unreadable", ["resource"], registry=self.registry
        )
        self._leading = Gauge("manager_leading", "1 while this manager may act", registry=self.registry)

    def add_controller(self, name: str, depth: Callable[[], float]) -> None:
        self._depth.labels(name).set_function(depth)
        self._retries.labels(name)
        self._left_out.labels(name)

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        self._reconciles.labels(controller, result).inc()
        self._durations.labels(controller).observe(seconds)

    def retried(self, controller: str) -> None:
        self._retries.labels(controller).inc()

    def left_out(self, controller: str) -> None:
        self._left_out.labels(controller).inc()

    def watch_restarted(self, plural: str) -> None:
        self._restarts.labels(plural).inc()

    def object_skipped(self, plural: str) -> None:
        self._skipped.labels(plural).inc()

    def lead(self, *, leading: bool) -> None:
        self._leading.set(1 if leading else 0)
