"""Calls of gRPC on a unix socket, with records as their messages: a field's number is all that both sides agree on."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import grpc
import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message, message_factory

from paddle_operator.csi.errors import Code, RefusedError

LOG = logging.getLogger(__name__)
THREADS = 16
Field = descriptor_pb2.FieldDescriptorProto


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """A message; every field of it has a number and a default."""


Request = TypeVar("Request", bound=Record)
Answer = Callable[[bytes, grpc.ServicerContext], bytes]
Services = Mapping[str, Mapping[str, Answer]]


def at(number: int) -> msgspec.Meta:
    """Give a field its number on the wire."""
    return msgspec.Meta(extra={"number": number})


def method(kind: type[Request], work: Callable[[Request], Record]) -> Answer:
    """Answer one kind of call; what fails is told in words, and never with a trace."""

    def answered(data: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            return encode(work(decode(kind, data)))
        except RefusedError as error:
            LOG.warning("refused call=%s reason=%r", kind.__name__, error.sentence)
            context.abort(error.code.value, error.sentence)
        except OSError as error:
            LOG.exception("failed call=%s", kind.__name__)
            context.abort(Code.INTERNAL.value, f"{error.strerror or error}: {error.filename or 'the node'}")

    return answered


@dataclass(frozen=True)
class Served:
    """A server at work, and the threads in which it answers."""

    server: grpc.Server
    threads: ThreadPoolExecutor

    def stop(self, grace: float) -> None:
        """Take no more calls, and wait for those that go on, also when nobody waits for their answers any more."""
        self.server.stop(grace).wait()
        self.threads.shutdown()


def serve(socket: Path, services: Services) -> Served:
    """Answer calls at this socket; one that an earlier plugin left is taken away first."""
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix=socket.stem)
    server = grpc.server(threads)
    for service, methods in services.items():
        handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            name: grpc.unary_unary_rpc_method_handler(answer) for name, answer in methods.items()
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    socket.parent.mkdir(parents=True, exist_ok=True)
    socket.unlink(missing_ok=True)
    server.add_insecure_port(f"unix://{socket}")
    server.start()
    return Served(server, threads)


def encode(record: Record) -> bytes:
    built = json_format.ParseDict(msgspec.to_builtins(record), _message_class(type(record))())
    return bytes(built.SerializeToString())


def decode(kind: type[Request], data: bytes) -> Request:
    """Read a message; what the record does not know is left out."""
    fields = json_format.MessageToDict(_message_class(kind).FromString(data), preserving_proto_field_name=True)
    return msgspec.convert(fields, kind, strict=False)  # 64-bit numbers are strings in protobuf's JSON


@cache
def _message_class(kind: type[Record]) -> type[message.Message]:
    package = f"records.{kind.__module__}"
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.{kind.__name__}", package=package, syntax="proto3")
    _describe(kind, file.message_type.add())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{kind.__name__}"))


def _describe(kind: type[msgspec.Struct], described: descriptor_pb2.DescriptorProto) -> None:
    described.name = kind.__name__
    for known in msgspec.structs.fields(kind):
        field = described.field.add(name=known.name, label=Field.LABEL_OPTIONAL)
        info = msgspec.inspect.type_info(known.type)
        if not isinstance(info, msgspec.inspect.Metadata) or not info.extra:
            raise TypeError(f"{kind.__name__}.{known.name} has no number")
        field.number = info.extra["number"]
        _describe_type(info.type, field, described)


def _describe_type(kind: msgspec.inspect.Type, field: Field, within: descriptor_pb2.DescriptorProto) -> None:
    match kind:
        case msgspec.inspect.StrType():
            field.type = Field.TYPE_STRING
        case msgspec.inspect.BoolType():
            field.type = Field.TYPE_BOOL
        case msgspec.inspect.IntType():
            field.type = Field.TYPE_INT64  # numbers of all widths, and enums, look alike on the wire
        case msgspec.inspect.VarTupleType(item_type=item):
            _describe_type(item, field, within)
            field.label = Field.LABEL_REPEATED
        case msgspec.inspect.UnionType(types=(msgspec.inspect.StructType() as inner, msgspec.inspect.NoneType())):
            _describe_type(inner, field, within)
        case msgspec.inspect.StructType(cls=cls):
            _describe(cls, within.nested_type.add())
            field.type, field.type_name = Field.TYPE_MESSAGE, cls.__name__
        case msgspec.inspect.DictType():
            entry = within.nested_type.add(name=f"{field.name.title().replace('_', '')}Entry")
            entry.options.map_entry = True
            for number, name in enumerate(("key", "value"), start=1):
                entry.field.add(name=name, number=number, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL)
            field.type, field.type_name, field.label = Field.TYPE_MESSAGE, entry.name, Field.LABEL_REPEATED
        case _:
            raise TypeError(f"{field.name} is of a kind that has no place on the wire: {kind}")
