"""How the kubelet finds the plugin: a second socket among those it looks at, which tells where the first one is."""

import logging

from paddle_operator.api.names import CSI_DRIVER
from paddle_operator.csi.messages import Empty, PluginInfo, RegistrationStatus
from paddle_operator.csi.places import Places
from paddle_operator.csi.wire import Services, method

LOG = logging.getLogger(__name__)
KIND = "CSIPlugin"
VERSIONS = ("1.0.0",)


def services(places: Places) -> Services:
    information = PluginInfo(KIND, CSI_DRIVER, str(places.socket), VERSIONS)
    return {
        "pluginregistration.Registration": {
            "GetInfo": method(Empty, lambda _: information),
            "NotifyRegistrationStatus": method(RegistrationStatus, notified),
        }
    }


def notified(status: RegistrationStatus) -> Empty:
    if status.plugin_registered:
        LOG.info("registered with the kubelet driver=%s", CSI_DRIVER)
    else:
        LOG.error("the kubelet refuses the driver=%s reason=%r", CSI_DRIVER, status.error)
    return Empty()
