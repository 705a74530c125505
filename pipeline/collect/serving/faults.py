"""What can go wrong with one rollout, each with the HTTP status and the words that its caller gets."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from pipeline.collect.answers import REACHED


class RolloutFaultError(Exception):
    """A rollout that has no result.

    Attributes:
        kind: The failure's class, for the sidecar of failures.
        detail: The failure's type: what it is more closely.
        message: One sentence for people.
        status: The HTTP status that the caller gets; 429 and 5xx say that another attempt may help.
        headers: Headers for the caller, such as Retry-After.
        reached: Whether the model was reached, as far as that is known.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        message: str,
        *,
        status: int,
        headers: dict[str, str] | None = None,
        reached: bool = True,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.detail = detail
        self.message = message
        self.status = status
        self.headers = headers or {}
        self.reached = reached

    @property
    def content(self) -> dict[str, Any]:
        """The body of the answer."""
        said: dict[str, Any] = {"class": self.kind, "type": self.detail, "message": self.message}
        return {"error": said if self.reached else {**said, REACHED: False}}


def bad_request(detail: str, message: str, *, status: int = HTTPStatus.UNPROCESSABLE_ENTITY) -> RolloutFaultError:
    """The row or the request is of no use."""
    return RolloutFaultError("bad_request", detail, message, status=status)


def malformed(detail: str, message: str) -> RolloutFaultError:
    """The model answered, but no response."""
    return RolloutFaultError("malformed_response", detail, message, status=HTTPStatus.BAD_GATEWAY)


def model_failed(detail: str, message: str) -> RolloutFaultError:
    """The model answered with a response that says itself that it failed."""
    return RolloutFaultError("model_failed", detail, message, status=HTTPStatus.BAD_GATEWAY)


def timed_out(seconds: float) -> RolloutFaultError:
    """The model did not answer in time."""
    message = f"the model gave no answer in {seconds:g} s"
    return RolloutFaultError("timeout_exceeded", "TimeoutError", message, status=HTTPStatus.GATEWAY_TIMEOUT)


def unreachable(detail: str, message: str, *, reached: bool) -> RolloutFaultError:
    """There is no connection to the model, or it broke."""
    return RolloutFaultError("connection_error", detail, message, status=HTTPStatus.BAD_GATEWAY, reached=reached)


def verifier_failed(detail: str, message: str) -> RolloutFaultError:
    """The environment raised, or gave no verdict."""
    return RolloutFaultError("verifier_error", detail, message, status=HTTPStatus.INTERNAL_SERVER_ERROR)


def refused(status: int, message: str, *, retry_after: str | None = None) -> RolloutFaultError:
    """The model answered with a status that is no success; where it is an error's, it is passed on."""
    passed_on = status if status >= HTTPStatus.BAD_REQUEST else HTTPStatus.BAD_GATEWAY
    headers = {"Retry-After": retry_after} if retry_after else None
    return RolloutFaultError("http_error", f"HTTP {status}", message, status=passed_on, headers=headers)
