"""Reads bundles: every part is checked before it is used, and nothing is executed, imported or unpacked to disk."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import numpy as np

from ...compiler.arguments.leaves import flatten_arguments
from ...compiler.dtypes import Array, dtype_named, dtype_names
from ...compiler.errors import InvalidGraphError, ParseError
from ...compiler.errors.tracemill_error import text_of
from ...compiler.frontend.program import ArrayOutput, Program, Static
from ...compiler.ir import ArrayType, Constant, Graph, Shape, called
from ...compiler.nesting import shown
from ...compiler.shapes.assumptions import Assumptions
from ...compiler.shapes.dim import answering
from ...compiler.shapes.guards import Guard, Guards
from ...compiler.shapes.reading import Sizes, read_declarations, read_dim
from ...compiler.shapes.scope import Declared
from ...compiler.text.parser import parse
from ...compiler.text.printer import graph_constants
from ...compiler.verifier import check, shape_problem
from ..bundle.archive import WHOLE, Archive
from ..bundle.array_file import array_in, file_bytes
from ..bundle.contents import Settings
from ..bundle.damage import DamageError
from ..bundle.fields import Fields, json_document
from ..bundle.interface import Interface, check_form, interface_from
from ..bundle.literal_document import literal_of
from ..bundle.manifest import FORMAT, GRAPH, MANIFEST, NUMBERS, manifest_id
from ..bundle.targets import check_code, member_of
from ..bundle.tree_document import MissingClassError, TreeReader
from ..files.digests import digest_of, file_of
from ..trees import flatten
from ..variants.signature import (
    ArraySpec,
    NumberSpec,
    Signature,
    Spec,
    StaticSpec,
    arguments_for,
)
from ..variants.static_values import identity_of
from .artifact import Artifact
from .lost_rules import LOST

LARGEST_MANIFEST: Final = 1 << 22
LARGEST_GRAPH: Final = 1 << 22
LARGEST_TEXT: Final = 1 << 16
"""Maximum bytes of a text that is only for people and not one of a target's files."""

MOST_FACTS: Final = 64
"""The maximum number of named sizes."""

TEXTS: Final = "src/"
"""The folder of texts for people."""

_NEVER_TRACED: Final = frozenset({"callback", "kernel", "tiled"})
"""Ops that no exported graph contains: they call Python, or only passes create them."""
_RULES: Final = frozenset({"graph", "differentiable", "jvp", "vjp", "transpose", "batch"})


def artifact_in(archive: Archive, types: Iterable[type[Any]] = ()) -> Artifact:
    """The artifact in a bundle; `DamageError` says what is wrong with which member."""
    members = _Members(archive)
    manifest = members.manifest
    try:
        interface = interface_from(manifest.take("function", dict))
        signature = _signature(manifest, interface, types)
        with answering(Declared(signature.sizes.assumptions)):
            graph = _graph(members)
            program = _program(manifest, signature, graph, types)
        settings = _settings(manifest.fields("settings"))
    except KeyError as error:
        raise DamageError(MANIFEST, f"there is no {error}") from error
    except MissingClassError as error:
        raise DamageError(MANIFEST, text_of(error), error.remedy) from error
    except (ValueError, OverflowError) as error:
        raise DamageError(MANIFEST, text_of(error)) from error
    code = _code(members, graph)
    members.check_rest()
    return Artifact(interface, signature, program, settings, code)


# ---- members -----------------------------------------------------------------------------------------


class _Members:
    """The manifest of a bundle, and the members that it lists."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        if MANIFEST not in archive.names:
            raise DamageError(WHOLE, f"it has no member {MANIFEST}")
        if archive.size(MANIFEST) > LARGEST_MANIFEST:
            raise DamageError(
                MANIFEST, f"it has {archive.size(MANIFEST)} bytes, and {LARGEST_MANIFEST} are read"
            )
        self.manifest = json_document(MANIFEST, archive.read(MANIFEST))
        self.format = format = self.manifest.take("format", int)
        if format > FORMAT:
            raise DamageError(
                MANIFEST,
                f"the format is {format}, and this version of Tracemill reads up to {FORMAT}",
                "Install a newer one: pip install --upgrade tracemill",
            )
        if format < 1:
            raise DamageError(MANIFEST, f"there is no format {format}")
        if self.manifest.take("id", str) != manifest_id(self.manifest.found):
            raise DamageError(MANIFEST, "its id is not the digest of the rest: it has been changed")
        self._read: set[str] = set()
        self._known: dict[str, tuple[int, str]] = {}
        for name, fields in self.manifest.objects("members"):
            self._known[name] = fields.take("bytes", int), fields.take("sha256", str)
        if {MANIFEST, *self._known} != set(archive.names):
            odd = min({MANIFEST, *self._known} ^ set(archive.names))
            raise DamageError(WHOLE, f"{shown(odd, 80)} is only in the zip file, or only in its manifest")
        for name, (size, _) in self._known.items():
            if size != archive.size(name):
                raise DamageError(name, f"it has {archive.size(name)} bytes, and {MANIFEST} says {size}")

    def size(self, name: str) -> int:
        """The length of a member; raises `DamageError` if it does not exist."""
        if name not in self._known:
            raise DamageError(MANIFEST, f"it names {shown(name, 80)}, which is not a member")
        return self._known[name][0]

    def read(self, name: str) -> bytes:
        """A member with the digest from the manifest. It may be named only once, so that no file is read many times."""
        self.size(name)
        if name in self._read:
            raise DamageError(MANIFEST, f"it names {shown(name, 80)} more than once")
        self._read.add(name)
        content = self._archive.read(name)
        if digest_of(content) != self._known[name][1]:
            raise DamageError(name, f"its sha256 is not the one that {MANIFEST} says")
        return content

    def check_rest(self) -> None:
        """The members that have not been read are texts for people; they are compared with their digests."""
        for name in sorted(self._known.keys() - self._read):
            if not name.startswith(TEXTS):
                raise DamageError(name, f"nothing in {MANIFEST} says what it is for")
            if self.size(name) > LARGEST_TEXT:
                raise DamageError(name, f"it has {self.size(name)} bytes, and {LARGEST_TEXT} are read")
            self.read(name)


# ---- the graph -----------------------------------------------------------------------------------------


def _graph(members: _Members) -> Graph:
    if members.size(GRAPH) > LARGEST_GRAPH:
        raise DamageError(GRAPH, f"it has {members.size(GRAPH)} bytes, and {LARGEST_GRAPH} are read")
    try:
        text = members.read(GRAPH).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DamageError(GRAPH, f"it is not UTF-8: {error}") from error
    try:
        graph = parse(text, _constants(members), LOST)
        check(graph)
        _check_ops(graph, set())
    except ParseError as error:
        raise DamageError(GRAPH, error.message) from error
    except InvalidGraphError as error:
        raise DamageError(GRAPH, f"the graph is not well formed: {error.message}") from error
    return graph


def _code(members: _Members, graph: Graph) -> dict[str, dict[str, bytes]]:
    """The files for GPUs, which are checked: plans, machine code, and its parameters."""
    code: dict[str, dict[str, bytes]] = {}
    targets = members.manifest.take("code", dict)
    if not targets:
        return code
    known = {file_of(digest): array.tobytes() for digest, array in graph_constants(graph).items()}
    for target, names in targets.items():
        place = f"the code for {shown(target, 40)}"
        try:
            names = [
                members.manifest.checked("code", name, str)
                for name in members.manifest.checked("code", names, list)
            ]
            files = {
                name: known.get(name) or members.read(member_of(target, name, members.format))
                for name in names
            }
            check_code(target, files, graph)
        except ParseError as error:
            raise DamageError(place, error.message) from error
        except ValueError as error:
            raise DamageError(MANIFEST, text_of(error)) from error
        code[target] = files
    return code


def _check_ops(graph: Graph, checked: set[int]) -> None:
    for call in graph.calls:
        if call.op in _NEVER_TRACED or (call.op == "custom_rule" and not call.params.keys() <= _RULES):
            raise DamageError(GRAPH, f"it has a call of {call.op} that no function is traced to")
        for nested in called((call,)):
            if id(nested) not in checked:
                checked.add(id(nested))
                _check_ops(nested, checked)


def _constants(members: _Members) -> Mapping[str, Array]:
    arrays: dict[str, Array] = {}
    for digest, fields in members.manifest.objects("constants"):
        name = fields.take("file", str)
        dtype = fields.take("dtype", str)
        if dtype not in dtype_names():
            raise DamageError(
                MANIFEST, f"{shown(name, 80)} has the dtype {shown(dtype, 20)}, which there is not"
            )
        type = ArrayType(dtype_named(dtype), _shape(fields))
        if members.size(name) != file_bytes(type):
            raise DamageError(
                name, f"an array {type} has a file of {file_bytes(type)} bytes, not {members.size(name)}"
            )
        try:
            arrays[digest] = array_in(members.read(name), type)
        except ValueError as error:
            raise DamageError(name, text_of(error)) from error
    return arrays


def _shape(fields: Fields, sizes: Sizes | None = None) -> Shape:
    """The sizes of an array, which may be expressions if there are named ones."""
    given = fields.items("shape", int if sizes is None else object)
    shape = tuple(
        cast("int", read_dim(size, sizes))
        if sizes is not None and isinstance(size, str)
        else fields.checked("shape", size, int)
        for size in given
    )
    if problem := shape_problem(shape):
        raise DamageError(fields.member, f"in {fields.what}: {problem}")
    return shape


# ---- arguments and results -------------------------------------------------------------------------------


def _signature(manifest: Fields, interface: Interface, types: Iterable[type[Any]]) -> Signature:
    facts = manifest.items("sizes", str) if "sizes" in manifest.found else []
    if len(facts) > MOST_FACTS:
        raise DamageError(MANIFEST, f"it has {len(facts)} facts of sizes, and {MOST_FACTS} are read")
    sizes, relations = read_declarations(facts)

    def leaf(document: Mapping[str, Any]) -> Spec:
        return _spec(Fields(MANIFEST, "an argument", document), sizes)

    call = TreeReader(leaf, types).read(manifest.take("arguments", dict))
    match call:
        case (tuple() as args, dict() as kwargs) if all(isinstance(name, str) for name in kwargs):
            check_form(interface, args, kwargs)
        case _:
            raise ValueError("the arguments are not a tuple of args and kwargs")
    leaves, tree = flatten_arguments(args, kwargs)
    known = Guards(tuple(map(Guard, Assumptions(relations).relations)))
    signature = Signature(tree, tuple(leaves), known)
    if sizes.keys() - {repr(dim) for dim in signature.sizes.dims}:
        raise ValueError("it says of sizes what no argument has")
    return signature


def _spec(fields: Fields, sizes: Sizes) -> Spec:
    match fields.take("leaf", str):
        case "array":
            return ArraySpec(_dtype(fields), _shape(fields, sizes))
        case "scalar":
            return NumberSpec(np.generic, _dtype(fields))
        case "number":
            type = NUMBERS.get(fields.take("type", str))
            if type is not None:
                return NumberSpec(type, Constant(type()).dtype)
        case "setting":
            value = literal_of(fields.found.get("value"))
            return StaticSpec(value, identity_of(value))
        case _:
            pass
    raise ValueError(f"{shown(fields.found, 80)} describes no argument")


def _dtype(fields: Fields) -> Any:
    name = fields.take("dtype", str)
    if name not in dtype_names():
        raise ValueError(f"there is no dtype {shown(name, 20)}")
    return dtype_named(name)


def _program(manifest: Fields, signature: Signature, graph: Graph, types: Iterable[type[Any]]) -> Program:
    """The graph with its returned outputs, which must fit the arguments."""
    arguments = tuple(x for x in arguments_for(signature) if not isinstance(x, Static))
    if tuple(x.type for x in arguments) != tuple(value.type for value in graph.inputs):
        raise DamageError(GRAPH, "its inputs are not the arguments that the manifest describes")
    results = manifest.found.get("results")
    found, out_tree = flatten(TreeReader(_Result, types).read(results))
    leaves = tuple(_out_leaf(Fields(MANIFEST, "a result", leaf.document), graph) for leaf in found)
    mutated = _mutated(manifest, arguments, graph)
    returned = [leaf.index for leaf in leaves if isinstance(leaf, ArrayOutput)]
    if sorted([*returned, *(output for _, output in mutated)]) != list(range(len(graph.outputs))):
        raise DamageError(MANIFEST, "it does not say once of each output of the graph what becomes of it")
    in_step = frozenset(manifest.items("in_step", int))
    if not in_step <= {index for index, _ in mutated}:
        raise DamageError(MANIFEST, "'in_step' names inputs that are not mutated")
    in_c_order = frozenset(manifest.items("in_c_order", int) if "in_c_order" in manifest.found else ())
    if not in_c_order <= set(range(len(arguments))):
        raise DamageError(MANIFEST, "'in_c_order' names arguments that there are not")
    return Program(graph, arguments, (), out_tree, leaves, mutated, in_step, frozen=(), in_c_order=in_c_order)


class _Result:
    """Stands for a leaf of the results."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document


def _out_leaf(fields: Fields, graph: Graph) -> ArrayOutput | Static:
    kind = fields.take("leaf", str)
    if kind == "value":
        return Static(literal_of(fields.found.get("value")))
    if kind != "output":
        raise ValueError(f"{shown(fields.found, 80)} describes no result")
    index = fields.count("output", len(graph.outputs))
    given = fields.take("as", str)
    type = graph.outputs[index].type
    weak = bool if given == "bool" else NUMBERS.get(given)
    if weak is None and given not in ("array", "scalar"):
        raise ValueError(f"a result is an array, a scalar or a number, not {shown(given, 20)}")
    if given != "array" and type.shape:
        raise ValueError(f"{type} is returned as {given!r}")
    if weak is not None and Constant(weak()).dtype != type.dtype:
        raise ValueError(f"{type} is returned as a Python number, {given!r}")
    return ArrayOutput(index, given != "array", weak)


def _mutated(manifest: Fields, arguments: tuple[Any, ...], graph: Graph) -> tuple[tuple[int, int], ...]:
    pairs: list[tuple[int, int]] = []
    outputs = len(graph.outputs)
    for pair in manifest.items("mutated", list):
        match pair:
            case [int(index), int(output)] if index in range(len(arguments)) and output in range(outputs):
                pairs.append((int(index), int(output)))
            case _:
                raise DamageError(
                    MANIFEST, f"'mutated' has {shown(pair)}, which is not a pair of input and output"
                )
        if arguments[index].type != graph.outputs[output].type or arguments[index].is_scalar:
            raise DamageError(MANIFEST, f"'mutated' has {shown(pair)}, and the types differ")
    if len({index for index, _ in pairs}) != len(pairs):
        raise DamageError(MANIFEST, "'mutated' has an input twice")
    return tuple(pairs)


def _settings(fields: Fields) -> Settings:
    donated = tuple(fields.items("donate_argnums", int))
    return Settings(fields.take("fast_math", bool), donated)
