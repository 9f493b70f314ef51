"""The templates of the Helm chart: the objects of an installation, with the chart's values in the place of options."""

from paddle_operator.cli import installation
from paddle_operator.cli.listing import text
from paddle_operator.desired.installation import csi
from paddle_operator.desired.installation.managers import Manager, Settings, objects

NAMESPACE = "{{ .Release.Namespace }}"
IMAGE, PULL_POLICY = "{{ .Values.image }}", "{{ .Values.pullPolicy }}"
WATCHED = "{{ .Values.watchNamespace }}"
LOCAL_SOURCES = "{{ .Values.localSources }}"
KUBELET_DIRECTORY = "{{ .Values.kubeletDir }}"
MADE = "{{- /* Written by `make manifests`: do not edit. */}}\n"


def operator() -> str:
    """Give the manager of PaddleJobs; the namespace is Helm's."""
    return MADE + _in_one_or_all(installation.controller_manager())


def extensions() -> str:
    plugin = csi.Settings(IMAGE, NAMESPACE, KUBELET_DIRECTORY, pull_policy=PULL_POLICY)
    printed = text(csi.objects(plugin))
    made = installation.extension_managers(LOCAL_SOURCES)
    managers = "---\n".join(_in_one_or_all(manager) for manager in made)
    return f'{MADE}{managers}{{{{- if eq .Values.csi "{installation.Driver.OURS}" }}}}\n---\n{printed}{{{{- end }}}}\n'


def _in_one_or_all(manager: Manager) -> str:
    one, everywhere = (Settings(IMAGE, PULL_POLICY, NAMESPACE, watched) for watched in (WATCHED, ""))
    return (
        f"{{{{- if .Values.watchNamespace }}}}\n{text(objects(manager, one))}"
        f"{{{{- else }}}}\n{text(objects(manager, everywhere))}{{{{- end }}}}\n"
    )


TEMPLATES = {"operator": operator, "extensions": extensions}
