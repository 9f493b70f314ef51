"""Changes of objects that are there, and what the API server says of them: some it refuses, others it takes."""

from dataclasses import dataclass, field

from support.manifests import ABSENT, Manifest
from support.refusals import CACHE, CLEAR, FLUID, JOB, NIGHTLY, RMR, SET, TF


@dataclass(frozen=True)
class Edit:
    """A change to an object that is there; the status is what the operator wrote of it before."""

    of: str
    changes: Manifest
    message: str = ""
    status: Manifest = field(default_factory=dict)


FROZEN_EDITS = {
    "another Secret once bound": Edit(
        SET,
        {"spec.secretRef.name": "other"},
        "spec.secretRef cannot change once the volume is bound",
        {"phase": "Bound"},
    ),
    "a CSI option once mounted": Edit(
        SET,
        {"spec.csi.juiceFSMountOptions.prefetch": 2},
        "spec.csi cannot change once the volume is bound",
        {"phase": "Mount"},
    ),
    "a cache directory once ready": Edit(
        SET,
        {"spec.cache.levels": [{"mediumType": "MEM", "path": "/a"}]},
        "spec.cache cannot change once the volume is bound",
        {"phase": "Ready"},
    ),
    "another source once ready": Edit(
        SET,
        {"spec.source.uri": "s3://another/bucket"},
        "spec.source cannot change after the data was copied",
        {"phase": "Ready"},
    ),
    "no more sync once ready": Edit(SET, {"spec.noSync": True}, "spec.noSync cannot change after", {"phase": "Ready"}),
    "another type": Edit(CLEAR, {"spec.type": "warmup"}, "type cannot change: make another SampleJob"),
    "another SampleSet": Edit(
        CLEAR, {"spec.sampleSetRef.name": "b"}, "sampleSetRef cannot change: make another SampleJob"
    ),
    "a schedule later on": Edit(CLEAR, {"spec.schedule": "@daily"}, "a job cannot get a schedule, or lose it"),
    "another intranet": Edit(
        JOB, {"spec.intranet": "Host"}, "intranet cannot change: delete the job and create it anew"
    ),
    "another data set": Edit(JOB, {"spec.sampleSetRef.name": "b"}, "sampleSetRef cannot change: delete the job"),
    "no data set any more": Edit(JOB, {"spec.sampleSetRef": ABSENT}, "sampleSetRef cannot change: delete the job"),
    "elastic later on": Edit(JOB, {"spec.elastic": 1}, "a job cannot become elastic, or stop being it"),
    "other data in a cache that is there": Edit(
        CACHE,
        {"spec.dataset.dataSources.0.location": "s3://other"},
        "spec.dataset cannot change once the cache is there",
        {"cacheStatus": "PVCCreated"},
    ),
    "another engine": Edit(
        CACHE, {"spec.cacheEngine": {"juicefs": {"secretRef": {"name": "a"}}}}, "a cache cannot change its engine"
    ),
    "another runtime": Edit(
        CACHE,
        {"spec.cacheEngine.fluid": {"juicefsRuntime": {"replicas": 1}}},
        "a cache cannot change its runtime: make another CacheBackend",
    ),
    "another cache": Edit(TF, {"spec.cacheBackend.name": "other"}, "cacheBackend cannot change: delete the job"),
}
ALLOWED_EDITS = {
    "more partitions": Edit(SET, {"spec.partitions": 3}, status={"phase": "Ready"}),
    "another Secret before it is bound": Edit(SET, {"spec.secretRef.name": "other"}),
    "another source after a failure": Edit(
        SET, {"spec.source.uri": "s3://another/bucket"}, status={"phase": "SyncFailed"}
    ),
    "other nodes": Edit(SET, {"spec.tolerations": [{"operator": "Exists"}]}, status={"phase": "Ready"}),
    "other paths of a failed rmr": Edit(RMR, {"spec.rmrOptions.paths": ["b"]}, status={"phase": "Failed"}),
    "a run suspended": Edit(NIGHTLY, {"spec.suspend": False, "spec.schedule": "@weekly"}),
    "more workers": Edit(JOB, {"spec.worker.replicas": 4, "spec.ps.replicas": 2}, status={"phase": "Running"}),
    "suspended": Edit(JOB, {"spec.suspend": True, "spec.backoffLimit": 3}, status={"phase": "Running"}),
    "more cache workers": Edit(CACHE, {f"{FLUID}.replicas": 3}, status={"cacheStatus": "PVCCreated"}),
    "other data after a failure": Edit(
        CACHE, {"spec.dataset.dataSources.0.location": "s3://other"}, status={"cacheStatus": "CacheFailed"}
    ),
}
