"""The engines that there are: one line each."""

from paddle_operator.api.sampleset import CSIDriver, SampleSet
from paddle_operator.desired.sampleset.engine import Engine
from paddle_operator.engines.juicefs.objects import JuiceFS

ENGINES: dict[CSIDriver, Engine] = {
    CSIDriver.JUICEFS: JuiceFS(),
}


def engine_of(sample_set: SampleSet) -> Engine:
    return ENGINES[sample_set.spec.csi.driver if sample_set.spec.csi else CSIDriver.JUICEFS]
