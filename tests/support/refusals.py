"""Manifests that the API server must refuse: what to change in a good one, and what is said of it."""

from support.manifests import ABSENT, Manifest

SET, JOB, CACHE = "SampleSet/imagenet", "PaddleJob/ps-demo", "CacheBackend/test-cachebackend"
RMR, SYNC, WARMUP, CLEAR, NIGHTLY = (
    f"SampleJob/{name}"
    for name in ("imagenet-rmr", "imagenet-sync", "imagenet-warmup", "imagenet-clear", "warmup-every-night")
)
TF, PYTORCH = "TFJob/tf-cache", "PyTorchJob/pytorch-cache"
CONTAINERS = "spec.worker.template.spec.containers"
FLUID = "spec.cacheEngine.fluid.alluxioRuntime"
ON_JUICEFS = {"juicefs": {"secretRef": {"name": "a"}}}
DESCRIBED = {"mountPath": "/data", "dataset": {"dataSources": [{"location": "s3://bucket"}]}}
ABSOLUTE = "must be an absolute path other than / itself, without '..'"
RELATIVE = "must be a path relative to the data set's root, without '..'"
CRON = "must be a cron schedule of five fields (minute hour day month weekday)"
LABEL = "a name has at most 63 lower-case letters, digits and dashes, no dash at its ends"
LETTER_FIRST = "metadata.name must begin with a letter and have lower-case letters, digits and dashes only"
CROWD = [f"train/{number}" for number in range(10_000)]
TOO_MANY = "Too many: 10000: must have at most 256 items"
URI = "must be SCHEME://BUCKET.ENDPOINT/PREFIX with a scheme that JuiceFS knows"

# By what is wrong: the manifest that it is wrong in, the change, and the words of the refusal.
REFUSED: dict[str, tuple[str, Manifest, str]] = {
    # SampleSet
    "a SampleSet without a spec": (SET, {"spec": ABSENT}, "spec: Required value"),
    "no partitions": (SET, {"spec.partitions": ABSENT}, "spec.partitions: Required value"),
    "zero partitions": (SET, {"spec.partitions": 0}, "spec.partitions in body should be greater than or equal to 1"),
    "too many partitions": (SET, {"spec.partitions": 1001}, "partitions in body should be less than or equal to 1000"),
    "partitions in words": (SET, {"spec.partitions": "two"}, "spec.partitions in body must be of type integer"),
    "no secretRef": (SET, {"spec.secretRef": ABSENT}, "spec.secretRef: Required value"),
    "a secretRef without a name": (SET, {"spec.secretRef": {}}, "spec.secretRef.name: Required value"),
    "a Secret's name with capitals": (SET, {"spec.secretRef.name": "ImageNet"}, "a name has lower-case letters"),
    "a namespace that cannot be": (SET, {"spec.secretRef.namespace": "a_b"}, LABEL),
    "no source": (SET, {"spec.source": ABSENT}, "say where the data comes from in source, or set noSync: true"),
    "no source and noSync false": (SET, {"spec.source": ABSENT, "spec.noSync": False}, "say where the data comes from"),
    "source and sources": (
        SET,
        {"spec.sources": [{"uri": "s3://bucket/a"}]},
        "give either source or sources, not both",
    ),
    "sources of which there are none": (
        SET,
        {"spec.source": ABSENT, "spec.sources": []},
        "spec.sources in body should have at least 1 items",
    ),
    "a source without uri": (SET, {"spec.source": {}}, "spec.source.uri: Required value"),
    "a uri without a scheme": (SET, {"spec.source.uri": "bucket.example.com/train"}, URI),
    "a uri with a scheme that JuiceFS lacks": (SET, {"spec.source.uri": "ftp://bucket.example.com/train"}, URI),
    "a uri that is too short": (
        SET,
        {"spec.source.uri": "s3://b"},
        "spec.source.uri in body should be at least 10 chars",
    ),
    "a source's path upwards": (
        SET,
        {"spec.source": ABSENT, "spec.sources": [{"uri": "s3://bucket/a", "path": "../a"}]},
        RELATIVE,
    ),
    "another CSI driver": (SET, {"spec.csi.driver": "nfs"}, 'Unsupported value: "nfs": supported values: "juicefs"'),
    "a free space ratio above one": (SET, {"spec.csi.juiceFSMountOptions.free-space-ratio": "1.5"}, "from 0 up to"),
    "a mount option below zero": (
        SET,
        {"spec.csi.juiceFSMountOptions.buffer-size": -1},
        "buffer-size in body should be greater than or equal to 0",
    ),
    "no cache levels": (SET, {"spec.cache.levels": []}, "spec.cache.levels in body should have at least 1 items"),
    "a cache level without path": (
        SET,
        {"spec.cache.levels": [{"mediumType": "MEM"}]},
        "spec.cache.levels[0].path: Required value",
    ),
    "a cache path that is relative": (
        SET,
        {"spec.cache.levels": [{"mediumType": "MEM", "path": "/data:cache"}]},
        "must be absolute directories, joined by ':'",
    ),
    "a medium that there is not": (
        SET,
        {"spec.cache.levels": [{"mediumType": "TAPE", "path": "/a"}]},
        'Unsupported value: "TAPE": supported values: "HDD", "MEM", "SSD"',
    ),
    "a SampleSet's name that is too long": (SET, {"metadata.name": "s" * 45}, "must have at most 44 characters"),
    "a SampleSet's name with a dot": (SET, {"metadata.name": "image.net"}, LETTER_FIRST),
    "a SampleSet's name with a digit first": (SET, {"metadata.name": "1imagenet"}, LETTER_FIRST),
    # SampleJob
    "no type": (CLEAR, {"spec.type": ABSENT}, "spec.type: Required value"),
    "a type that there is not": (CLEAR, {"spec.type": "delete"}, 'supported values: "clear", "rmr", "sync", "warmup"'),
    "no sampleSetRef": (CLEAR, {"spec.sampleSetRef": ABSENT}, "spec.sampleSetRef: Required value"),
    "a sampleSetRef without a name": (CLEAR, {"spec.sampleSetRef": {}}, "spec.sampleSetRef.name: Required value"),
    "rmr without options": (RMR, {"spec.rmrOptions": ABSENT}, "a job of type rmr needs rmrOptions.paths"),
    "rmr without paths": (
        RMR,
        {"spec.rmrOptions.paths": []},
        "spec.rmrOptions.paths in body should have at least 1 items",
    ),
    "rmr of an absolute path": (RMR, {"spec.rmrOptions.paths": ["/etc"]}, RELATIVE),
    "rmr upwards": (RMR, {"spec.rmrOptions.paths": ["a/../../b"]}, RELATIVE),
    "rmr of the root": (RMR, {"spec.rmrOptions.paths": ["."]}, RELATIVE),
    "rmr of nothing": (RMR, {"spec.rmrOptions.paths": [""]}, RELATIVE),
    "rmr of ten thousand paths": (RMR, {"spec.rmrOptions.paths": CROWD}, f"spec.rmrOptions.paths: {TOO_MANY}"),
    "warmup of ten thousand paths": (
        WARMUP,
        {"spec.warmupOptions.paths": CROWD},
        f"spec.warmupOptions.paths: {TOO_MANY}",
    ),
    "clear of ten thousand paths": (
        CLEAR,
        {"spec.clearOptions.paths": [f"/{path}" for path in CROWD]},
        f"spec.clearOptions.paths: {TOO_MANY}",
    ),
    "a sampler without its options": (
        WARMUP,
        {"spec.warmupOptions": {"strategyName": "sampler"}},
        "strategyName: sampler needs sampler, with batchSize and so on",
    ),
    "options of a sampler for another strategy": (
        WARMUP,
        {"spec.warmupOptions": {"sampler": {"batchSize": 2}}},
        "and sampler is for that strategy alone",
    ),
    "a batch of nothing": (
        WARMUP,
        {"spec.warmupOptions": {"strategyName": "sampler", "sampler": {"batchSize": 0}}},
        "spec.warmupOptions.sampler.batchSize in body should be greater than or equal to 1",
    ),
    "a schedule's name that is too long": (
        NIGHTLY,
        {"metadata.name": "j" * 44},
        "must have at most 43 characters: the names of a schedule's runs are longer",
    ),
    "a deadline before the beginning": (
        WARMUP,
        {"spec.activeDeadlineSeconds": 0},
        "spec.activeDeadlineSeconds in body should be greater than or equal to 1",
    ),
    "sync without a Secret": (SYNC, {"spec.secretRef": ABSENT}, "a job of type sync needs secretRef"),
    "sync from nowhere": (SYNC, {"spec.syncOptions.source": "bucket"}, URI),
    "sync to an absolute path": (SYNC, {"spec.syncOptions.destination": "/train"}, RELATIVE),
    "a port that there is not": (
        SYNC,
        {"spec.syncOptions.http-port": 65536},
        "spec.syncOptions.http-port in body should be less than or equal to 65535",
    ),
    "a pattern that is too long": (
        SYNC,
        {"spec.syncOptions.exclude": "x" * 1025},
        "Too long: may not be more than 1024",
    ),
    "a bandwidth below zero": (SYNC, {"spec.syncOptions.bwlimit": -1}, "should be greater than or equal to 0"),
    "warmup of no paths": (
        WARMUP,
        {"spec.warmupOptions.paths": []},
        "warmupOptions.paths in body should have at least 1",
    ),
    "warmup upwards": (WARMUP, {"spec.warmupOptions.paths": [".."]}, RELATIVE),
    "warmup by an absolute list": (WARMUP, {"spec.warmupOptions.file": "/list"}, RELATIVE),
    "a strategy that there is not": (
        WARMUP,
        {"spec.warmupOptions.strategyName": "best"},
        'supported values: "random", "sampler", "sequence"',
    ),
    "clear of a relative path": (CLEAR, {"spec.clearOptions.paths": ["cache"]}, "must be an absolute path of a cache"),
    "clear upwards": (CLEAR, {"spec.clearOptions.paths": ["/cache/../etc"]}, "must be an absolute path of a cache"),
    "a schedule of four fields": (NIGHTLY, {"spec.schedule": "* * * *"}, CRON),
    "a schedule at minute 60": (NIGHTLY, {"spec.schedule": "60 * * * *"}, CRON),
    "a schedule in words": (NIGHTLY, {"spec.schedule": "daily"}, CRON),
    "a time zone that cannot be": (NIGHTLY, {"spec.timeZone": "../etc"}, "must be a time zone's name"),
    "a concurrency policy that there is not": (
        NIGHTLY,
        {"spec.concurrencyPolicy": "Queue"},
        'supported values: "Allow", "Forbid", "Replace"',
    ),
    "suspend without a schedule": (WARMUP, {"spec.suspend": True}, "are about a schedule: give schedule too"),
    "a schedule with a time to live": (
        NIGHTLY,
        {"spec.ttlSecondsAfterFinished": 5},
        "a job with a schedule never finishes: leave out ttlSecondsAfterFinished",
    ),
    "tries below zero": (
        WARMUP,
        {"spec.backoffLimit": -1},
        "backoffLimit in body should be greater than or equal to 0",
    ),
    "a SampleJob's name that is too long": (WARMUP, {"metadata.name": "j" * 53}, "must have at most 52 characters"),
    # PaddleJob
    "a PaddleJob without roles": (
        JOB,
        {"spec.ps": ABSENT, "spec.worker": ABSENT},
        "a PaddleJob needs a role: ps, worker or heter",
    ),
    "a role without replicas": (JOB, {"spec.ps.replicas": ABSENT}, "spec.ps.replicas: Required value"),
    "a role of no pods": (
        JOB,
        {"spec.ps.replicas": 0},
        "spec.ps.replicas in body should be greater than or equal to 1",
    ),
    "a role of fewer pods than none": (
        JOB,
        {"spec.worker.replicas": -1},
        "spec.worker.replicas in body should be greater than or equal to 1",
    ),
    "a gang of fewer pods than none": (
        JOB,
        {"spec.schedulingPolicy.minAvailable": -1},
        "spec.schedulingPolicy.minAvailable in body should be greater than or equal to 0",
    ),
    "a range below zero": (
        JOB,
        {"spec.worker.requests": -1},
        "spec.worker.requests in body should be greater than or equal to 0",
    ),
    "gloo below zero": (JOB, {"spec.withGloo": -1}, "spec.withGloo in body should be greater than or equal to 0"),
    "a role without a template": (JOB, {"spec.worker.template": ABSENT}, "spec.worker.template: Required value"),
    "a template without a spec": (
        JOB,
        {"spec.worker.template.spec": ABSENT},
        "spec.worker.template.spec: Required value",
    ),
    "a template of nothing": (JOB, {"spec.worker.template": None}, "spec.worker.template: Required value"),
    "no containers": (JOB, {CONTAINERS: ABSENT}, f"{CONTAINERS}: Required value"),
    "an empty list of containers": (JOB, {CONTAINERS: []}, f"{CONTAINERS} in body should have at least 1 items"),
    "a container without a name": (JOB, {f"{CONTAINERS}.0.name": ABSENT}, f"{CONTAINERS}[0].name: Required value"),
    "a container's name with capitals": (JOB, {f"{CONTAINERS}.0.name": "Sample"}, LABEL),
    "a container without an image": (JOB, {f"{CONTAINERS}.0.image": ABSENT}, f"{CONTAINERS}[0].image: Required value"),
    "two containers of one name": (
        JOB,
        {CONTAINERS: [{"name": "a", "image": "a"}, {"name": "a", "image": "b"}]},
        f'{CONTAINERS}[1]: Duplicate value: {{"name":"a"}}',
    ),
    "a container port of zero": (
        JOB,
        {f"{CONTAINERS}.0.ports": [{"containerPort": 0}]},
        "containerPort in body should be greater than or equal to 1",
    ),
    "a port's name that is too long": (
        JOB,
        {f"{CONTAINERS}.0.ports": [{"containerPort": 80, "name": "p" * 16}]},
        "ports[0].name: Too long: may not be more than 15",
    ),
    "a pod's restart policy that there is not": (
        JOB,
        {"spec.worker.template.spec.restartPolicy": "Sometimes"},
        'supported values: "", "Always", "OnFailure", "Never"',
    ),
    "fewest replicas above the most": (
        JOB,
        {"spec.worker.requests": 3, "spec.worker.limits": 2},
        "requests, the fewest replicas",
    ),
    "a clean-up policy that there is not": (JOB, {"spec.cleanPodPolicy": "Later"}, 'Unsupported value: "Later"'),
    "an intranet that there is not": (
        JOB,
        {"spec.intranet": "Ingress"},
        'supported values: "", "Host", "PodIP", "Service"',
    ),
    "an intranet of which one word is known": (JOB, {"spec.intranet": "HostOrNot"}, 'Unsupported value: "HostOrNot"'),
    "gloo of three": (JOB, {"spec.withGloo": 3}, "spec.withGloo in body should be less than or equal to 2"),
    "a data set without a name": (JOB, {"spec.sampleSetRef.name": ABSENT}, "spec.sampleSetRef.name: Required value"),
    "a data set with an empty name": (JOB, {"spec.sampleSetRef.name": ""}, "should be at least 1 chars long"),
    "a data set mounted nowhere": (
        JOB,
        {"spec.sampleSetRef.mountPath": ABSENT},
        "sampleSetRef.mountPath: Required value",
    ),
    "a data set mounted at a relative path": (JOB, {"spec.sampleSetRef.mountPath": "mnt/imagenet"}, ABSOLUTE),
    "a data set mounted over everything": (JOB, {"spec.sampleSetRef.mountPath": "/"}, ABSOLUTE),
    "a gang larger than the job": (
        JOB,
        {"spec.schedulingPolicy.minAvailable": 3},
        "minAvailable must not be more than",
    ),
    "a resource that is no quantity": (
        JOB,
        {"spec.schedulingPolicy.minResources.memory": "lots"},
        "spec.schedulingPolicy.minResources.memory in body should match",
    ),
    "an elastic job without workers": (
        JOB,
        {"spec.worker": ABSENT, "spec.elastic": 1},
        "an elastic job needs workers: give worker too",
    ),
    "an elastic job with fewer workers than it can go on with": (
        JOB,
        {"spec.elastic": 1, "spec.worker.requests": 2},
        "worker.replicas of an elastic job must not be less than requests, nor more than limits",
    ),
    "an elastic job with more workers than it may have": (
        JOB,
        {"spec.elastic": 1, "spec.worker.replicas": 3, "spec.worker.limits": 2},
        "worker.replicas of an elastic job must not be less than requests, nor more than limits",
    ),
    "restarts below zero": (
        JOB,
        {"spec.backoffLimit": -1},
        "spec.backoffLimit in body should be greater than or equal to 0",
    ),
    "a deadline of no time": (
        JOB,
        {"spec.activeDeadlineSeconds": 0},
        "spec.activeDeadlineSeconds in body should be greater than or equal to 1",
    ),
    "a time to live below zero": (
        JOB,
        {"spec.ttlSecondsAfterFinished": -1},
        "spec.ttlSecondsAfterFinished in body should be greater than or equal to 0",
    ),
    "a placement that there is not": (
        JOB,
        {"spec.sampleSetRef.placement": "Anywhere"},
        'Unsupported value: "Anywhere": supported values: "Preferred", "Required"',
    ),
    "a data set waited for no time": (
        JOB,
        {"spec.sampleSetRef.timeoutSeconds": 0},
        "spec.sampleSetRef.timeoutSeconds in body should be greater than or equal to 1",
    ),
    "a PaddleJob's name that is too long": (JOB, {"metadata.name": "p" * 52}, "must have at most 51 characters"),
    "a PaddleJob's name with a digit first": (JOB, {"metadata.name": "3d-model"}, LETTER_FIRST),
    # CacheBackend
    "an engine without data": (CACHE, {"spec.dataset": ABSENT}, "go together: give both or neither"),
    "data without an engine": (CACHE, {"spec.cacheEngine": ABSENT}, "go together: give both or neither"),
    "no engine in the engine": (CACHE, {"spec.cacheEngine": {}}, "cacheEngine must have exactly one engine"),
    "two engines": (
        CACHE,
        {"spec.cacheEngine.juicefs": {"secretRef": {"name": "a"}}},
        "cacheEngine must have exactly one engine: fluid or juicefs",
    ),
    "fluid without a runtime": (CACHE, {"spec.cacheEngine.fluid": {}}, "fluid must have exactly one runtime"),
    "fluid with two runtimes": (CACHE, {"spec.cacheEngine.fluid.juicefsRuntime": {}}, "must have exactly one runtime"),
    "a name too long for a SampleSet": (
        "CacheBackend/on-juicefs",
        {"metadata.name": "c" * 45},
        "must have at most 44 characters with the engine juicefs",
    ),
    "a choice that there is not when a cache fails": (
        TF,
        {"spec.cacheBackend.onCacheFailure": "Pray"},
        'Unsupported value: "Pray": supported values: "Fail", "RunWithout"',
    ),
    "JuiceFS without a Secret": (CACHE, {"spec.cacheEngine": {"juicefs": {}}}, "juicefs.secretRef: Required value"),
    "JuiceFS on too many nodes": (
        CACHE,
        {"spec.cacheEngine": {"juicefs": {"secretRef": {"name": "imagenet"}, "replicas": 1001}}},
        "juicefs.replicas in body should be less than or equal to 1000",
    ),
    "Alluxio without workers": (
        CACHE,
        {f"{FLUID}.replicas": 0},
        "replicas in body should be greater than or equal to 1",
    ),
    "a quota that is none": (CACHE, {f"{FLUID}.tieredStorage.0.quota": "1GB"}, "must be a quantity of Kubernetes"),
    "no quota": (CACHE, {f"{FLUID}.tieredStorage.0.quota": ABSENT}, "tieredStorage[0].quota: Required value"),
    "Alluxio on paper": (CACHE, {f"{FLUID}.tieredStorage.0.mediumType": "PAPER"}, 'Unsupported value: "PAPER"'),
    "a relative cache path": (
        CACHE,
        {f"{FLUID}.tieredStorage.0.cachePath": "shm"},
        "must be absolute directories, joined by ','",
    ),
    "no data sources": (CACHE, {"spec.dataset.dataSources": []}, "dataSources in body should have at least 1 items"),
    "a location without a scheme": (
        CACHE,
        {"spec.dataset.dataSources.0.location": "/dataset"},
        "a location with its scheme",
    ),
    "a subdirectory upwards": (CACHE, {"spec.dataset.dataSources.0.subDirName": ".."}, "the name of one directory"),
    "two data sources in one directory": (
        CACHE,
        {
            "spec.dataset.dataSources": [
                {"location": "s3://a", "subDirName": "x"},
                {"location": "s3://b", "subDirName": "x"},
            ]
        },
        "two data sources cannot appear in the same subDirName",
    ),
    "an idle time in words": (CACHE, {"spec.options.idleTime": "10h"}, "idleTime in body must be of type integer"),
    "a CacheBackend's name that is too long": (CACHE, {"metadata.name": "c" * 54}, "must have at most 53 characters"),
    "a CacheBackend's name with a dot": (CACHE, {"metadata.name": "c.d"}, LETTER_FIRST),
    # TFJob and PyTorchJob
    "a TFJob without replicas": (TF, {"spec.tfReplicaSpecs": ABSENT}, "spec.tfReplicaSpecs: Required value"),
    "a TFJob of nothing": (TF, {"spec.tfReplicaSpecs": {}}, "tfReplicaSpecs in body should have at least 1 properties"),
    "a TFJob of no pods": (TF, {"spec.tfReplicaSpecs.Worker.replicas": 0}, "a job needs at least one pod"),
    "a type of replicas that there is not": (
        TF,
        {"spec.tfReplicaSpecs.Boss": {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}},
        "the types of replicas are PS, Worker, Chief, Master, Evaluator, AIMaster",
    ),
    "replicas without a template": (
        TF,
        {"spec.tfReplicaSpecs.Worker.template": ABSENT},
        "Worker.template: Required value",
    ),
    "a restart policy that there is not": (
        TF,
        {"spec.tfReplicaSpecs.Worker.restartPolicy": "Maybe"},
        'supported values: "Always", "ExitCode", "Never", "OnFailure"',
    ),
    "a success policy that there is not": (
        TF,
        {"spec.successPolicy": "SomeWorkers"},
        'supported values: "", "AllWorkers"',
    ),
    "a cache mounted nowhere": (TF, {"spec.cacheBackend.mountPath": ABSENT}, "cacheBackend needs mountPath"),
    "a cache mounted at a relative path": (TF, {"spec.cacheBackend.mountPath": "data"}, ABSOLUTE),
    "a cache that is neither named nor described": (
        TF,
        {"spec.cacheBackend": {"mountPath": "/data"}},
        "cacheBackend needs the name of a CacheBackend, or dataset and cacheEngine to create one",
    ),
    "a job named too long for a cache of its own": (
        TF,
        {"metadata.name": "t" * 42},
        "must have at most 41 characters, or",
    ),
    "a job named too long for a SampleSet of its own": (
        TF,
        {"metadata.name": "t" * 33, "spec.cacheBackend.cacheEngine": ON_JUICEFS},
        "metadata.name must have at most 32 characters with the engine juicefs, or cacheBackend a name",
    ),
    "a PaddleJob named too long for a SampleSet of its own": (
        JOB,
        {"metadata.name": "p" * 33, "spec.cacheBackend": {**DESCRIBED, "cacheEngine": ON_JUICEFS}},
        "metadata.name must have at most 32 characters with the engine juicefs, or cacheBackend a name",
    ),
    "the name of a cache that cannot be": (
        PYTORCH,
        {"spec.cacheBackend.name": "c" * 54},
        "cacheBackend.name must begin with a letter and have at most 53 characters",
    ),
    "the name of a cache that begins with a digit": (
        PYTORCH,
        {"spec.cacheBackend.name": "3d"},
        "cacheBackend.name must begin with a letter and have at most 53 characters",
    ),
    "the name of a cache that no SampleSet can have": (
        TF,
        {"spec.cacheBackend.name": "c" * 45, "spec.cacheBackend.cacheEngine": ON_JUICEFS},
        "cacheBackend.name must have at most 44 characters with the engine juicefs: a SampleSet has the same name",
    ),
    "a TFJob's name that is too long": (TF, {"metadata.name": "t" * 49}, "must have at most 48 characters"),
    "a cron policy without a schedule": (TF, {"spec.cronPolicy": {}}, "spec.cronPolicy.schedule: Required value"),
    "a cron policy at hour 24": (TF, {"spec.cronPolicy.schedule": "0 24 * * *"}, CRON),
    "a deadline that is no time": (
        TF,
        {"spec.cronPolicy": {"schedule": "@daily", "deadline": "soon"}},
        "spec.cronPolicy.deadline in body must be of type date-time",
    ),
    "a PyTorchJob with parameter servers": (
        PYTORCH,
        {"spec.pytorchReplicaSpecs.PS": {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}},
        "the types of replicas are Master, Worker, AIMaster",
    ),
}
