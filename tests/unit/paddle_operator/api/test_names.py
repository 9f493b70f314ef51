"""The names that objects of ours carry."""

from paddle_operator.api import crd, names


def test_the_finalizers_are_those_of_the_original_operator() -> None:
    assert names.FINALIZER_PADDLEJOB == "finalizers.paddlepaddle.org"
    assert names.sampleset_finalizer("imagenet") == "paddlepaddle.org/sampleset-imagenet"
    assert names.samplejob_finalizer("sync") == "paddlepaddle.org/samplejob-sync"
    assert names.sampleset_label("imagenet") == "paddlepaddle.org/juicefs-imagenet"


def test_the_longest_names_that_are_allowed_fit_where_they_are_put() -> None:
    limits = {kind.definition.kind: kind.definition.rules[0].message.split()[5] for kind in crd.KINDS}
    sampleset = "s" * int(limits["SampleSet"])
    assert len(names.sampleset_label(sampleset).split("/")[1]) <= 63
    assert len(names.sampleset_node_label("n" * 63, sampleset).split("/")[1]) <= 63
    assert len(names.sampleset_finalizer(sampleset).split("/")[1]) <= 63
    assert len(f"{sampleset}-runtime-0123456789") <= 63
    assert len(f"{sampleset}-runtime-service") <= 63
    assert len(names.samplejob_finalizer("j" * int(limits["SampleJob"])).split("/")[1]) <= 63
    assert len("p" * int(limits["PaddleJob"]) + "-worker-9999") <= 63
    assert len("t" * int(limits["TFJob"]) + "-evaluator-9999") <= 63
    assert int(limits["CacheBackend"]) == 53


def test_groups_and_versions_are_those_of_the_kinds() -> None:
    versions = {names.BATCH_V1, names.BATCH_V1ALPHA1, names.CACHE_V1ALPHA1, names.TRAINING_V1ALPHA1}
    assert {kind.definition.api_version for kind in crd.KINDS} == versions


def test_nodes_of_equally_named_sets_in_two_namespaces_have_labels_of_their_own() -> None:
    assert names.sampleset_node_label("one", "imagenet") != names.sampleset_node_label("two", "imagenet")
