"""What runtime servers said, in the words of a snapshot."""

from paddle_operator.controllers.runtimes import Server
from paddle_operator.desired.sampleset.runtimes import Standing, Word, Work
from paddle_operator.engines.operations import Operation, Result


def trouble_of(server: Server | None) -> str:
    if server is None or server.report is None or server.report.mounted:
        return server.trouble if server else ""
    return server.trouble or server.report.message


def word_of(server: Server | None) -> Word | None:
    """Give what a server said, in the words of a snapshot; an answer counts until the next report knows better."""
    if server is None or server.report is None:
        return None
    report = server.report
    answered = {name: found for name, found in server.answers.items() if found.state.is_final}
    operations = answered | {found.id: found for found in report.operations}
    return Word(
        mounted=report.mounted,
        data_bytes=report.data.bytes,
        data_files=report.data.files,
        cached_bytes=report.cache.used,
        capacity_bytes=report.cache.capacity,
        free_bytes=report.cache.free,
        hits=report.cache.hits,
        misses=report.cache.misses,
        cache=report.cache.identity,
        works={name: work_of(found) for name, found in operations.items()},
        refused=dict(server.refusals),
    )


def work_of(operation: Operation) -> Work:
    result = operation.result or Result()
    return Work(
        type=operation.type,
        standing=Standing(operation.state.value),
        message=operation.message,
        lacks_keys=operation.needs_credentials,
        ordered=operation.order_time,
        began=operation.start_time,
        ended=operation.end_time,
        files=operation.progress.files,
        total_files=operation.progress.total_files,
        bytes=operation.progress.bytes,
        total_bytes=operation.progress.total_bytes,
        expected_blocks=result.expected_blocks,
        present_blocks=result.present_blocks,
        missing_files=result.missing_files,
        missing=result.missing,
        damaged_files=result.damaged_files,
        dealt_from=result.dealt_from,
    )
