"""What the API server refuses, one class for each reason that callers tell apart."""

from http import HTTPStatus

from paddle_operator.api.manifest import Manifest

LONGEST_MESSAGE = 2000


class KubeError(Exception):
    """Anything that goes wrong between us and the API server."""


class ConfigError(KubeError):
    """The way to the cluster cannot be read; its words are for the person at the terminal."""


class UnreachableError(KubeError):
    """No answer: refused, cut, or too late. Whether a write took effect is not known."""


class ApiError(KubeError):
    """The API server's answer is no; `status` is what it said."""

    def __init__(self, status: Manifest, retry_after: float | None = None) -> None:
        self.status = status
        self.code = code_of(status)
        self.reason = str(status.get("reason") or "Unknown")
        self.message = str(status.get("message") or "")[:LONGEST_MESSAGE]
        self.retry_after = retry_after
        super().__init__(f"{self.code} {self.reason}: {self.message}")


class BadRequestError(ApiError): ...


class UnauthorizedError(ApiError): ...


class ForbiddenError(ApiError): ...


class NamespaceEndsError(ForbiddenError):
    """Nothing is made any more in a namespace that is being deleted: all that is in it goes by itself."""


class NotFoundError(ApiError): ...


class ConflictError(ApiError):
    """Somebody else changed it meanwhile, or a precondition does not hold."""


class AlreadyExistsError(ApiError): ...


class GoneError(ApiError):
    """The version asked for is no longer kept: list again."""


class InvalidError(ApiError):
    """The object breaks its schema or a rule; sending it again cannot help."""


class NotRunningError(ApiError):
    """The container that a command is for does not run: not yet, or no longer."""


class TooManyRequestsError(ApiError): ...


class ServerError(ApiError):
    """The API server's own trouble: it may pass."""


BY_REASON: dict[str, type[ApiError]] = {
    "BadRequest": BadRequestError,
    "Unauthorized": UnauthorizedError,
    "Forbidden": ForbiddenError,
    "NotFound": NotFoundError,
    "Conflict": ConflictError,
    "AlreadyExists": AlreadyExistsError,
    "Gone": GoneError,
    "Expired": GoneError,
    "Invalid": InvalidError,
    "TooManyRequests": TooManyRequestsError,
    "InternalError": ServerError,
    "ServerTimeout": ServerError,
    "ServiceUnavailable": ServerError,
    "Timeout": ServerError,
}
BY_CODE: dict[int, type[ApiError]] = {
    HTTPStatus.BAD_REQUEST: BadRequestError,
    HTTPStatus.UNAUTHORIZED: UnauthorizedError,
    HTTPStatus.FORBIDDEN: ForbiddenError,
    HTTPStatus.NOT_FOUND: NotFoundError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.GONE: GoneError,
    HTTPStatus.UNPROCESSABLE_ENTITY: InvalidError,
    HTTPStatus.TOO_MANY_REQUESTS: TooManyRequestsError,
}


def code_of(status: Manifest) -> int:
    code = status.get("code")
    return code if isinstance(code, int) else 0


def from_status(status: Manifest, retry_after: float | None = None) -> ApiError:
    """Choose by reason; by code where the answer comes from something in between that gives no reason."""
    code = code_of(status)
    otherwise = ServerError if code >= HTTPStatus.INTERNAL_SERVER_ERROR else ApiError
    kind = BY_REASON.get(str(status.get("reason")), BY_CODE.get(code, otherwise))
    causes = (status.get("details") or {}).get("causes") or []
    # A write meant for an earlier object of the same name: the API server calls it invalid.
    if kind is InvalidError and {cause.get("field") for cause in causes} == {"metadata.uid"}:
        kind = ConflictError
    if kind is ForbiddenError and {cause.get("reason") for cause in causes} == {"NamespaceTerminating"}:
        kind = NamespaceEndsError
    return kind(status, retry_after)
