"""What went wrong, in the words of each error."""

from collections.abc import Iterator


def words(error: BaseException) -> Iterator[str]:
    """Give what each error in a group of groups says."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from words(inner)
    else:
        yield str(error)
