"""An HTML page as a tree, parsed strictly: what is opened must be closed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img"}


@dataclass
class Element:
    """A tag with its contents."""

    tag: str
    attributes: dict[str, str]
    inside: list["Element | str"] = field(default_factory=list["Element | str"])

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.inside)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def lines(self) -> set[int]:
        """The user's lines that it is marked with."""
        return {int(number) for number in self.attributes.get("data-l", "").split()}

    def all(self, tag: str = "", kind: str = "") -> Iterator["Element"]:
        """The elements in it with a tag and a class, in order."""
        for part in self.inside:
            if isinstance(part, Element):
                if tag in ("", part.tag) and (not kind or kind in part.classes):
                    yield part
                yield from part.all(tag, kind)

    def one(self, tag: str = "", kind: str = "") -> "Element":
        """The only element like this."""
        (found,) = self.all(tag, kind)
        return found

    def named(self, identity: str) -> "Element":
        """The element with an id."""
        (found,) = (element for element in self.all() if element.attributes.get("id") == identity)
        return found


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        assert len(attributes) == len(attrs), f"an attribute of <{tag}> stands there twice"
        element = Element(tag, attributes)
        self.stack[-1].inside.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.stack[-1].inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        opened = self.stack.pop()
        assert opened.tag == tag, f"<{opened.tag}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        self.stack[-1].inside.append(data)


def parsed_page(page: str) -> Element:
    """The document; AssertionError where it is not nested."""
    parser = _Parser()
    parser.feed(page)
    parser.close()
    (root,) = parser.stack
    identities = [element.attributes["id"] for element in root.all() if "id" in element.attributes]
    assert len(identities) == len(set(identities)), "an id is there twice"
    return root
