"""Reads Swift sources as far as the checks in scripts/ need it: tokens, and declarations with their places.

    source = Source(text)
    source.tokens          every token but white space and comments; those of an interpolation follow their string
    source.declarations    the outermost declarations; each has its `members`

It needs no compiler and a few milliseconds a file. It expects code that compiles, as `swift format` leaves it: white
space on both sides of a binary operator, and the `{` of a type or a function on the line where its head ends.
"""

import re
from typing import NamedTuple

# One alternative for each kind of token; strings, block comments and regular expressions are finished by hand.
TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)|(?P<comment>//[^\n]*)|(?P<block>/\*)"
    r'|(?P<string>#*"(?:"")?)|(?P<id>[^\W\d][\w$]*|\$\w+|`[^`\n]+`)'
    r"|(?P<number>\d\w*(?:\.\d\w*)?)|(?P<at>@\w[\w.]*)|(?P<hash>#[a-zA-Z]\w*)"
    r"|(?P<op>->|\.\.[.<]|&&|\|\||(?<=[\s(])[-+*/%=<>!&|^~?]+(?=[\s)])|.)"
)
REGEX = re.compile(r"#/.*?/#|/(?![\s/*])(?:[^/\\\n]|\\.)+/", re.S)
BEFORE_REGEX = {"(", "[", "{", ",", "=", ":", "return", "in", "try", "firstMatch", "wholeMatch"}
BLOCK = re.compile(r"/\*|\*/")

CLOSERS = {")": "(", "]": "[", "}": "{"}
TYPES = {"struct", "class", "actor", "enum", "protocol", "extension"}
FUNCTIONS = {"func", "init", "deinit", "subscript"}
MODIFIERS = {
    *("open", "public", "package", "internal", "fileprivate", "private", "static", "class", "final", "override"),
    *("mutating", "nonmutating", "lazy", "weak", "unowned", "nonisolated", "isolated", "indirect", "convenience"),
    *("required", "dynamic", "optional", "borrowing", "consuming", "distributed", "prefix", "postfix", "infix"),
}
ACCESS = {"open", "public", "package", "internal", "fileprivate", "private"}
# A line that begins with one of these goes on with the line before it.
CONTINUING = {".", "?", ":", "->", "async", "throws", "rethrows", "where", "else", "as", "is", "=", ")", "]", "}", ","}
# A line that ends with one of these goes on with the next.
CONTINUED = {":", ",", "->", "where", "try", "await", "return", "as", "is", "in", "if", "switch", "any", "some", "."}


class Token(NamedTuple):
    kind: str  # id, number, string, at, hash, op, regex
    text: str
    line: int
    first: bool  # first of its line
    spaced: bool  # white space or a comment before it
    start: int  # its offset in the text


class Declaration:
    """A type, extension, function, property, subscript, enum case, alias or import."""

    def __init__(self, kind, name, parent):
        self.kind, self.name, self.parent = kind, name, parent
        self.names = [name]  # of a property or case that declares several
        self.attributes, self.modifiers, self.generics, self.members = [], [], [], []
        self.parameters = 0
        self.stored = 0  # how many stored properties it declares
        self.start = self.end = 0  # its tokens, without attributes: [start, end)
        self.first_line = self.line = self.last_line = 0  # first_line is that of its attributes
        self.has_body = False

    @property
    def access(self):
        """Its access level as written, or that of an extension or protocol around it, or None."""
        written = next((word for word in self.modifiers if word in ACCESS), None)
        if written or self.parent is None or self.kind in ("import",):
            return written
        if self.parent.kind == "extension":
            return next((word for word in self.parent.modifiers if word in ACCESS), None)
        if self.parent.kind == "protocol" or self.kind == "case":
            return self.parent.access
        return None

    @property
    def path(self):
        return (self.parent.path + "." if self.parent and self.parent.kind in TYPES else "") + self.name

    def walk(self):
        yield self
        for member in self.members:
            yield from member.walk()


class Source:
    def __init__(self, text):
        self.text = text
        self.tokens = []
        self.pair = {}  # from the index of a bracket to that of its other half
        self.comments = {}  # from a line to the comment that is alone on it
        self._line, self._open = 1, []
        self._lex(0, False)
        self._tokens_end = len(self.tokens)
        self.declarations = []
        self._members(0, self._tokens_end, None, self.declarations)

    def walk(self):
        for declaration in self.declarations:
            yield from declaration.walk()

    def documentation(self, declaration):
        """The lines of the `///` block right above a declaration, without their slashes."""
        found, line = [], declaration.first_line - 1
        while (text := self.comments.get(line)) is not None:
            if text.startswith("///"):
                found.append(text[4:] if text.startswith("/// ") else text[3:])
            elif found:
                break
            line -= 1
        return found[::-1]

    def documentation_line(self, declaration):
        """The line where that block begins."""
        line = declaration.first_line
        while self.comments.get(line - 1, "").startswith("//"):
            line -= 1
        return line

    # Tokens

    def _lex(self, at, nested):
        text, tokens, line, length = self.text, self.tokens, self._line, len(self.text)
        match, first, spaced, depth = TOKEN.match, True, True, 0
        while at < length:
            found = match(text, at)
            kind, piece = found.lastgroup, found.group()
            if kind == "space":
                lines = piece.count("\n")
                line += lines
                first, spaced, at = first or lines > 0, True, found.end()
                continue
            if kind == "comment":
                if first:
                    self.comments[line] = piece
                spaced, at = True, found.end()
                continue
            if kind == "block":
                end = self._block_end(at)
                line += text.count("\n", at, end)
                spaced, at = True, end
                continue
            if kind == "op" and piece in "/#" and (expression := self._regex(at)):
                kind, piece = "regex", expression
            tokens.append(Token(kind, piece, line, first, spaced, at))
            first = spaced = False
            if kind == "string":
                self._line = line
                at = self._string(at, piece)
                line = self._line
                continue
            if kind == "op":
                if piece in "([{":
                    self._open.append(len(tokens) - 1)
                    depth += 1
                elif piece in CLOSERS:
                    depth -= 1
                    if self._open and tokens[self._open[-1]].text == CLOSERS[piece]:
                        other = self._open.pop()
                        self.pair[other] = len(tokens) - 1
                        self.pair[len(tokens) - 1] = other
                    if nested and depth == 0:
                        self._line = line
                        return at + 1
            line += piece.count("\n") if kind == "regex" else 0
            at += len(piece)
        self._line = line
        return at

    def _block_end(self, at):
        depth = 0
        for mark in BLOCK.finditer(self.text, at):
            depth += 1 if mark.group() == "/*" else -1
            if depth == 0:
                return mark.end()
        return len(self.text)

    def _regex(self, at):
        before = self.tokens[-1].text if self.tokens else "("
        if self.text[at] == "/" and before not in BEFORE_REGEX:
            return None
        found = REGEX.match(self.text, at)
        return found.group() if found else None

    def _string(self, at, opening):
        """The offset behind the string that begins at `at`; lexes its interpolations."""
        hashes = opening.count("#")
        quotes = opening[hashes:]
        closing, escape = quotes + "#" * hashes, "\\" + "#" * hashes
        marks = re.compile(re.escape(closing) + "|" + re.escape(escape) + "|\n")
        at += len(opening)
        while mark := marks.search(self.text, at):
            at = mark.end()
            if mark.group() == closing:
                return at
            if mark.group() == "\n":
                self._line += 1
                if len(quotes) == 1:
                    return at
            elif self.text.startswith("(", at):
                at = self._lex(at, True)
            else:
                self._line += self.text.startswith("\n", at)
                at += 1
        return len(self.text)

    # Declarations

    def _text(self, index):
        return self.tokens[index].text if index < self._tokens_end else ""

    def _continues(self, index):
        """Whether the token goes on with what stands before it, though it is the first of its line."""
        token = self.tokens[index]
        if not token.first or index == 0:
            return True
        if token.text in CONTINUING or self.tokens[index - 1].text in CONTINUED:
            return True
        before = self.tokens[index - 1]
        after = self.tokens[index + 1] if index + 1 < self._tokens_end else None
        if token.kind == "op" and token.text not in "([{@#" and after and after.spaced:
            return True
        return before.kind == "op" and before.spaced and before.text not in "([{)]}!?>"

    def _members(self, at, end, parent, into):
        while at < end:
            at = self._member(at, end, parent, into)

    def _member(self, at, end, parent, into):
        """Reads one declaration, or passes one token that begins none; the index behind it."""
        tokens, first = self.tokens, at
        attributes, modifiers = [], []
        while at < end and tokens[at].kind == "at":
            attributes.append(tokens[at].text[1:])
            at += 1
            if at < end and tokens[at].text == "(" and not tokens[at].spaced:
                at = self.pair.get(at, at) + 1
        start = at
        while at < end and tokens[at].text in MODIFIERS:
            word = tokens[at].text
            if word == "class" and self._text(at + 1) not in MODIFIERS | {"func", "var", "let", "subscript"}:
                break
            at += 1
            if self._text(at) == "(" and not tokens[at].spaced:
                at = self.pair.get(at, at) + 1  # private(set), unowned(unsafe)
            else:
                modifiers.append(word)
        if at >= end:
            return end
        word, kind = tokens[at].text, tokens[at].kind
        if kind == "hash" and word in ("#if", "#elseif", "#else", "#endif"):
            at += 1
            while at < end and not tokens[at].first:
                at += 1
            return at
        if kind == "id" and (word in TYPES or word in FUNCTIONS or word in ("let", "var", "typealias", "import")):
            read = {"let": self._property, "var": self._property, "import": self._import}.get(word)
            read = read or (self._type if word in TYPES else self._function if word in FUNCTIONS else self._alias)
        elif kind == "id" and word == "case" and parent is not None and parent.kind == "enum":
            read = self._case
        elif word in ("(", "[", "{") and at in self.pair:
            self._inside(at + 1, self.pair[at], parent, into)
            return self.pair[at] + 1
        else:
            return max(at, first) + 1
        if word == "actor" and tokens[at + 1].kind != "id":
            return at + 1
        declaration = Declaration(word, "", parent)
        declaration.attributes, declaration.modifiers = attributes, modifiers
        declaration.start, declaration.first_line, declaration.line = start, tokens[first].line, tokens[start].line
        into.append(declaration)
        at = max(read(declaration, at + 1, end), at + 1)
        declaration.end, declaration.last_line = at, tokens[at - 1].line
        return at

    def _inside(self, at, end, parent, into):
        """Declarations of types and functions among statements."""
        tokens = self.tokens
        while at < end:
            token = tokens[at]
            if (
                token.kind == "id"
                and (token.text == "func" or token.text in TYPES)
                and tokens[at + 1].kind in ("id", "op")
                and tokens[at - 1].text != "."
                and (token.text == "func" or (tokens[at + 1].kind == "id" and not tokens[at + 1].first))
            ):
                at = self._member(at, end, parent, into)
            else:
                at += 1

    def _generics(self, declaration, at):
        """Reads <…>, if it stands there."""
        if self._text(at) != "<" or self.tokens[at].spaced:
            return at
        depth, names = 0, True
        while at < self._tokens_end:
            text = self.tokens[at].text
            if text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
                if depth == 0:
                    return at + 1
            elif depth == 1 and names and self.tokens[at].kind == "id":
                declaration.generics.append(text)
            names = depth == 1 and text in ("<", ",", "each", "let")
            at += 1
        return at

    def _type(self, declaration, at, end):
        name = []
        while at < end and (self.tokens[at].kind == "id" or self._text(at) in (".", "[")) and self._text(at) != "where":
            if self._text(at) == "[":
                at = self.pair.get(at, at)
            name.append(self.tokens[at].text.strip("`"))
            at += 1
            if self._text(at) != "." and self._text(at - 1) != ".":
                break
        declaration.name = "".join(name)
        declaration.names = [declaration.name]
        at = self._generics(declaration, at)
        while at < end and self._text(at) != "{":
            at = self.pair[at] + 1 if self._text(at) in ("(", "[") and at in self.pair else at + 1
        if at >= end or at not in self.pair:
            return at
        declaration.has_body = True
        self._members(at + 1, self.pair[at], declaration, declaration.members)
        return self.pair[at] + 1

    def _function(self, declaration, at, end):
        if declaration.kind == "func":
            declaration.name = self.tokens[at].text.strip("`")
            at += 1
            # An operator's name may have several tokens, and < begins generic parameters only in front of a name.
            while at < end and self._text(at) != "(" and self.tokens[at + 1].kind != "id":
                declaration.name += self._text(at)
                at += 1
        else:
            declaration.name = declaration.kind
            if declaration.kind == "init" and self._text(at) in ("?", "!"):
                at += 1
        declaration.names = [declaration.name]
        at = self._generics(declaration, at)
        if declaration.kind != "deinit" and self._text(at) == "(" and at in self.pair:
            declaration.parameters = self._count(at + 1, self.pair[at])
            at = self.pair[at] + 1
        while at < end and self._text(at) != "{":
            if self.tokens[at].first and not self._continues(at) or self._text(at) in (";", "}"):
                return at
            at = self.pair[at] + 1 if self._text(at) in ("(", "[") and at in self.pair else at + 1
        if at >= end:
            return at
        return self._body(declaration, at)

    def _body(self, declaration, at):
        declaration.has_body = True
        close = self.pair.get(at, at)
        self._inside(at + 1, close, declaration, declaration.members)
        return close + 1

    def _count(self, at, end):
        """How many parameters stand between two parentheses."""
        if at >= end:
            return 0
        count, angle = 1, 0
        while at < end:
            text = self.tokens[at].text
            if text in ("(", "[", "{") and at in self.pair:
                at = self.pair[at]
            elif text == "<" and not self.tokens[at].spaced:
                angle += 1
            elif text == ">" and not self.tokens[at].spaced:
                angle -= 1
            elif text == "," and angle == 0 and at + 1 < end:
                count += 1
            at += 1
        return count

    def _property(self, declaration, at, end):
        declaration.names = []
        instance = not {"static", "class"} & set(declaration.modifiers)
        while at < end:
            names = []
            if self._text(at) == "(" and at in self.pair:
                close = self.pair[at]
                names = [
                    self.tokens[i].text
                    for i in range(at, close)
                    if self.tokens[i].kind == "id" and self._text(i + 1) != ":"
                ]
                at = close + 1
            elif self.tokens[at].kind == "id":
                names = [self.tokens[at].text.strip("`")]
                at += 1
            declaration.names += names
            stored = True
            if self._text(at) == ":":
                at = self._expression(at + 1, end, ("=", "{", ","))
            if self._text(at) == "=" and self._continues(at):
                at = self._expression(at + 1, end, (",",), declaration)
            elif self._text(at) == "{" and not self.tokens[at].first:
                stored = self._observed(at)
                at = self._body(declaration, at)
            if stored and instance:
                declaration.stored += len([name for name in names if name != "_"])
            if self._text(at) != "," or at >= end:
                break
            at += 1
        declaration.name = ", ".join(declaration.names)
        return at

    def _observed(self, at):
        """Whether the block behind a property's type has observers and no getter."""
        at += 1
        while self.tokens[at].kind == "at":
            at += 1
        return self._text(at) in ("willSet", "didSet")

    def _expression(self, at, end, stops, parent=None):
        """The index behind a type or an expression: at a stop, or where a line does not go on."""
        angle, begin = 0, at
        while at < end:
            token = self.tokens[at]
            if at > begin and token.first and not self._continues(at):
                return at
            if token.text == ";" or (token.text in stops and angle == 0):
                return at
            if token.text in ("(", "[", "{") and at in self.pair:
                if parent is not None:
                    self._inside(at + 1, self.pair[at], parent, parent.members)
                at = self.pair[at]
            elif token.text == "<" and not token.spaced:
                angle += 1
            elif token.text == ">" and not token.spaced and angle:
                angle -= 1
            at += 1
        return at

    def _case(self, declaration, at, end):
        declaration.names = []
        while at < end and self.tokens[at].kind == "id":
            declaration.names.append(self.tokens[at].text.strip("`"))
            at += 1
            if self._text(at) == "(" and at in self.pair:
                at = self.pair[at] + 1
            if self._text(at) == "=":
                at = self._expression(at + 1, end, (",",))
            if self._text(at) != ",":
                break
            at += 1
        declaration.name = ", ".join(declaration.names)
        return at

    def _alias(self, declaration, at, end):
        declaration.name = self.tokens[at].text.strip("`")
        declaration.names = [declaration.name]
        at = self._generics(declaration, at + 1)
        return self._expression(at, end, ())

    def _import(self, declaration, at, end):
        if self._text(at) in ("typealias", "struct", "class", "enum", "protocol", "actor", "let", "var", "func"):
            at += 1
        declaration.name = self.tokens[at].text
        declaration.names = [declaration.name]
        at += 1
        while at < end and not self.tokens[at].first:
            at += 1
        return at


def blank(source):
    """The text with every string and comment replaced by white space, so that a pattern finds code alone."""
    kept = list(" " * len(source.text))
    for index, character in enumerate(source.text):
        if character == "\n":
            kept[index] = "\n"
    for token in source.tokens:
        if token.kind not in ("string", "regex"):
            kept[token.start : token.start + len(token.text)] = token.text
    return "".join(kept)
