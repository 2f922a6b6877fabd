"""`Interface`: how a function is called; it replaces the Python signature if the code is not available."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from keyword import iskeyword
from typing import Any, Final
from unicodedata import normalize

from ...compiler.errors import ArgumentMismatchError, InternalError
from ...compiler.nesting import shown
from ..variants.signature import NumberSpec, StaticSpec
from .literal_document import literal_document, literal_of

_KINDS: Final[Mapping[str, Any]] = {
    "positional": Parameter.POSITIONAL_ONLY,
    "either": Parameter.POSITIONAL_OR_KEYWORD,
    "rest": Parameter.VAR_POSITIONAL,
    "keyword": Parameter.KEYWORD_ONLY,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
MOST_PARAMETERS: Final = 1024
LONGEST_NAME: Final = 256


@dataclass(frozen=True)
class Interface:
    """Name, parameters and docstring of a function that was exported for some arguments."""

    name: str
    doc: str | None
    signature: inspect.Signature
    """The parameters, without undescribed ones whose defaults are arrays or objects: those are part of the program."""

    @property
    def stand_in(self) -> "StandIn":
        """An object with the function's name and parameters, which is not called."""
        return StandIn(self)

    def bound(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments in the order and form of the described ones.

        Raises:
            ArgumentMismatchError: they are too many or too few, or have other names.
        """
        try:
            found = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentMismatchError(f"{self.name}{self.signature}: {error}") from None
        found.apply_defaults()
        return found.args, found.kwargs


class StandIn:
    """The signature for Python's `inspect`."""

    __signature__: inspect.Signature

    def __init__(self, interface: Interface) -> None:
        self.__name__ = self.__qualname__ = interface.name
        self.__doc__ = interface.doc
        self.__signature__ = interface.signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise InternalError(f"{self.__name__} is called, but only its parameters are known")


def interface_of(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Interface:
    """The interface of a function for arguments of this form; a setting has its described value as the default."""
    doc = inspect.getdoc(function)
    try:
        known = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C
        known = []
    by_name = {parameter.name: parameter for parameter in known}
    rest = next((p for p in known if p.kind is Parameter.VAR_POSITIONAL), None)
    positional = [p for p in known if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    if not known:
        names = ["x", "y"] if len(args) <= 2 else [f"x{i}" for i in range(len(args))]
        positional = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    parameters = [
        parameter.replace(annotation=Parameter.empty, default=_default(parameter, given))
        for parameter, given in zip(positional, args, strict=False)
    ]
    if len(args) > len(positional) and rest is not None:
        parameters.append(rest.replace(annotation=Parameter.empty))
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=_default(by_name.get(name), given))
        for name, given in kwargs.items()
    ]
    return Interface(name, doc, inspect.Signature(_without_gaps(parameters)))


def _default(parameter: Parameter | None, given: Any) -> Any:
    """A setting's value, otherwise the function's own default if a number is expected."""
    if isinstance(given, StaticSpec):
        return given.value
    default = Parameter.empty if parameter is None else parameter.default
    is_number = isinstance(given, NumberSpec) and type(default) is given.type in (int, float, complex)
    return default if is_number or (given is None and default is None) else Parameter.empty


def _without_gaps(parameters: list[Parameter]) -> list[Parameter]:
    """After a positional parameter with a default, all need one: the earlier default is removed."""
    kept: list[Parameter] = []
    is_needed = False
    for parameter in reversed(parameters):
        is_positional = parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        if is_positional and is_needed:
            parameter = parameter.replace(default=Parameter.empty)
        is_needed = is_needed or (is_positional and parameter.default is Parameter.empty)
        kept.append(parameter)
    return kept[::-1]


def interface_document(interface: Interface) -> dict[str, Any]:
    """An interface in a form that JSON can hold."""
    parameters: list[dict[str, Any]] = []
    for parameter in interface.signature.parameters.values():
        stored: dict[str, Any] = {"name": parameter.name, "kind": _NAMES[parameter.kind]}
        if parameter.default is not Parameter.empty:
            stored["default"] = literal_document(parameter.default)
        parameters.append(stored)
    return {"name": interface.name, "doc": interface.doc, "parameters": parameters}


def interface_from(document: Mapping[str, Any]) -> Interface:
    """The interface in a document; ValueError if it is invalid."""
    name, doc, parameters = document["name"], document["doc"], document["parameters"]
    if not isinstance(parameters, list) or len(parameters) > MOST_PARAMETERS:
        raise ValueError(f"the parameters are not a list of at most {MOST_PARAMETERS}")
    if doc is not None and not (isinstance(doc, str) and is_text(doc)):
        raise ValueError("the docstring is not text")
    return Interface(_identifier(name), doc, inspect.Signature([_parameter(found) for found in parameters]))


def _parameter(document: Any) -> Parameter:
    if not isinstance(document, dict) or document["kind"] not in list(_KINDS):
        raise ValueError(f"{shown(document)} describes no parameter")
    default = literal_of(document["default"]) if "default" in document else Parameter.empty
    return Parameter(_identifier(document["name"]), _KINDS[document["kind"]], default=default)


def _identifier(name: Any) -> str:
    if (
        not isinstance(name, str)
        or not (len(name) <= LONGEST_NAME and name.isidentifier())
        or iskeyword(name)
        or normalize("NFKC", name) != name  # as Python has read it from a source
    ):
        raise ValueError(f"{shown(name)} is not a name of Python's with at most {LONGEST_NAME} letters")
    return str(name)


def is_text(text: str) -> bool:
    """Whether UTF-8 can encode a string: JSON also allows lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_form(interface: Interface, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """ValueError unless a function with this interface takes arguments of this form, in this form."""
    try:
        found = interface.signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ValueError(f"the arguments are not those of the parameters: {error}") from None
    if found.args != args or found.kwargs != kwargs:
        raise ValueError("the arguments are in another form than the parameters")
