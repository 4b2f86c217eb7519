"""Where the texts of statements come from: read off the source code, without running it.

A text is *made here* if it is a constant, a number, what a door of `frazil.sql` returns, or put together from such by
formatting, joining and choosing. Names are followed to what is assigned to them, calls to what is returned, parameters
to the arguments of all calls. Whatever cannot be followed was not made here.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

DOORS = frozenset({"ident", "literal", "literals", "json_path"})
"""What `frazil.sql` makes of text from outside."""

RENDERING = frozenset({("frazil.snowflake.rendering", "rendered"), ("frazil.pipes.sql.record", "sql_of")})
"""What makes the text of a tree: names and texts in it go through the doors."""

STATEMENTS = frozenset({"execute", "executemany", "executescript", "sql", "query", "query_df", "from_query"})
"""Methods whose first argument is a statement."""

_NUMBERS = frozenset({"int", "len", "range"})
_PARTS = frozenset({"str", "list", "tuple", "sorted", "reversed", "enumerate", "iter", "next", "zip", "dict"})
_METHODS = frozenset({"join", "format", "upper", "lower", "items", "keys", "values", "get"})
"""Functions and methods that give back, or give parts of, what they are given and called on."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """One file."""

    name: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Local name → module and name there; the latter is empty for a module."""

    constants: dict[str, ast.expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            self.parents.update((child, node) for child in ast.iter_child_nodes(node))
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = (node.module, alias.name)
        for statement in self.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.constants[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.constants[name] = value

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node is in, the innermost first, without the module."""
        above = self.parents[node]
        while not isinstance(above, ast.Module):
            yield above
            above = self.parents[above]


class Flow:
    """Follows texts through the modules of a program."""

    def __init__(self, sources: Mapping[str, str], trusted: Mapping[str, Collection[str]] | None = None) -> None:
        """Follow through `sources`, by dotted name; in a module, the attributes of `trusted` were made elsewhere."""
        self._trusted = trusted or {}
        self.modules = {name: Module(name, ast.parse(text)) for name, text in sources.items()}
        self._functions: dict[str, list[tuple[Module, _Function]]] = {}
        self._calls: list[tuple[Module, ast.Call]] = []
        for module in self.modules.values():
            for node in module.parents:
                if isinstance(node, _Function):
                    self._functions.setdefault(node.name, []).append((module, node))
                elif isinstance(node, ast.Call):
                    self._calls.append((module, node))
        self._callers: dict[_Function, list[tuple[Module, ast.Call]]] = {}
        for module, call in self._calls:
            for _, function in self._called(call, module):
                self._callers.setdefault(function, []).append((module, call))
        self._whole = self._whole_numbers()
        self._known: dict[ast.AST, bool] = {}
        self._culprits: list[str] = []
        """What was found not to be made here, the innermost first."""

    def foreign(self) -> Iterator[str]:
        """The statements that were not made here: where each is, and what in it is not."""
        for module, call in self._calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in STATEMENTS and call.args:
                self._culprits.clear()
                if not self.made(call.args[0], module):
                    yield f"{module.name}:{call.lineno}: {', in '.join(self._culprits[:3])}"

    def made(self, node: ast.AST, module: Module) -> bool:
        """Whether the value of an expression was made here; that of a collection if all that is in it was."""
        if node not in self._known:
            self._known[node] = True  # what leads back to itself adds nothing foreign
            self._known[node] = self._made(node, module)
        if not self._known[node]:
            self._culprits.append(f"{ast.unparse(node)} ({module.name}:{getattr(node, 'lineno', 0)})")
        return self._known[node]

    def _all(self, nodes: Iterable[ast.AST | None], module: Module) -> bool:
        return all(self.made(node, module) for node in nodes if node is not None)

    def _made(self, node: ast.AST, module: Module) -> bool:
        match node:
            case ast.Constant():
                return True
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return self._all(parts, module)
            case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts):
                return self._all(parts, module)
            case ast.Dict(keys=keys, values=parts):
                return self._all([*keys, *parts], module)
            case ast.BinOp(left=left, right=right):
                return self._all([left, right], module)
            case ast.IfExp(body=one, orelse=other):
                return self._all([one, other], module)
            case (
                ast.FormattedValue() | ast.Starred() | ast.NamedExpr() | ast.Subscript() | ast.Yield() | ast.YieldFrom()
            ):
                return self._all([node.value], module)
            case (
                ast.GeneratorExp(elt=each) | ast.ListComp(elt=each) | ast.SetComp(elt=each) | ast.UnaryOp(operand=each)
            ):
                return self.made(each, module)
            case ast.Call():
                return self._call_made(node, module)
            case ast.Name(id=name):
                return self._name_made(node, name, module)
            case ast.Attribute(attr=name):
                trusted = name in self._trusted.get(module.name, ())
                return trusted or name in self._whole or self._attribute_made(node, module)
            case _:
                return False

    def _call_made(self, call: ast.Call, module: Module) -> bool:
        given = [*call.args, *(each.value for each in call.keywords)]
        match call.func:
            case ast.Name(id=name) if module.imports.get(name) == ("frazil.sql", name):
                return name in DOORS
            case ast.Name(id=name) if module.imports.get(name) in RENDERING:
                return True
            case ast.Name(id=name) if name in _NUMBERS:
                return True
            case ast.Name(id=name) if name in _PARTS:
                return self._all(given, module)
            case ast.Attribute(attr=name, value=owner) if name in _METHODS and self.made(owner, module):
                return self._all(given, module)
        called = list(self._called(call, module))
        return bool(called) and all(self._returns_made(function, where) for where, function in called)

    def _called(self, call: ast.Call, module: Module) -> Iterator[tuple[Module, _Function]]:
        """What a call may call: a function by its import, a method by its name alone."""
        match call.func:
            case ast.Name(id=name):
                where, name = module.imports.get(name, (module.name, name))
                yield from self._of_module(where, name)
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in module.imports:
                yield from self._of_module(".".join(module.imports[owner]), name)
            case ast.Attribute(value=owner, attr=name):
                methods = [found for found in self._functions.get(name, ()) if _is_method(*found)]
                if isinstance(owner, ast.Name) and owner.id == "self":
                    around = set(module.above(call))
                    own = [found for found in methods if found[0].parents[found[1]] in around]
                    # What a class only promises, others keep.
                    methods = [found for found in own if not _is_promise(found[1])] or methods
                yield from (found for found in methods if _fits(call, found[1]) and not _is_promise(found[1]))

    def _of_module(self, where: str, name: str) -> Iterator[tuple[Module, _Function]]:
        for module, function in self._functions.get(name, ()):
            if module.name == where and not _is_method(module, function):
                yield module, function

    def _returns_made(self, function: _Function, module: Module) -> bool:
        given = [
            node.value if isinstance(node, ast.Return) else node
            for node in ast.walk(function)
            if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom)
        ]
        return bool(given) and self._all(given, module)

    def _name_made(self, node: ast.AST, name: str, module: Module) -> bool:
        for function in module.above(node):
            if not isinstance(function, _Function | ast.Lambda):
                continue
            values = list(_bound(function, name))
            given = not isinstance(function, ast.Lambda) and name in (each.arg for each in _parameters(function))
            if values or given:
                return all(self._binding_made(*each, module) for each in values) and (
                    not given or self._parameter_made(function, name, module)
                )
        if name in module.constants:
            return self.made(module.constants[name], module)
        where, there = module.imports.get(name, ("", ""))
        return where in self.modules and self._constant_made(self.modules[where], there)

    def _attribute_made(self, node: ast.Attribute, module: Module) -> bool:
        """Whether it is a constant of another module, or all that is assigned to it in its class was made here."""
        if not isinstance(node.value, ast.Name):
            return False
        if node.value.id == "self":
            around = next((each for each in module.above(node) if isinstance(each, ast.ClassDef)), None)
            values = [*_assigned(around, node.attr)] if around else []
            return bool(values) and all(self._binding_made(*each, module) for each in values)
        where = ".".join(module.imports.get(node.value.id, ()))
        return where in self.modules and self._constant_made(self.modules[where], node.attr)

    def _constant_made(self, module: Module, name: str) -> bool:
        return name in module.constants and self.made(module.constants[name], module)

    def _binding_made(self, value: ast.expr | str, place: int | None, module: Module) -> bool:
        if isinstance(value, str):
            return value in self._whole
        return self.made(value, module) if place is None else self._part_made(value, place, module)

    def _part_made(self, node: ast.expr, place: int, module: Module) -> bool:
        """Whether what stands at a place of a tuple, or of all tuples in a collection, was made here."""
        match node:
            case ast.Tuple(elts=parts) if place < len(parts):
                return self.made(parts[place], module)
            case ast.GeneratorExp(elt=ast.Tuple() as each) | ast.ListComp(elt=ast.Tuple() as each):
                return self._part_made(each, place, module)
            case ast.Call(func=ast.Name(id="enumerate")) if place == 0:
                return True
            case ast.Call(func=ast.Name(id="zip"), args=parts) if place < len(parts):
                return self.made(parts[place], module)
            case ast.Name(id=name):
                values = [each for function in module.above(node) for each in _bound(function, name)]
                if values and all(isinstance(value, ast.expr) and inner is None for value, inner in values):
                    return all(self._part_made(value, place, module) for value, _ in values)
        return self.made(node, module)

    def _parameter_made(self, function: _Function, name: str, module: Module) -> bool:
        parameter = next(each for each in _parameters(function) if each.arg == name)
        if isinstance(parameter.annotation, ast.Name) and parameter.annotation.id in ("int", "bool"):
            return True
        arguments = [
            (argument, where)
            for where, call in self._callers.get(function, ())
            if (argument := _argument(call, function, name, method=_is_method(module, function))) is not None
        ]
        return bool(arguments) and all(self.made(argument, where) for argument, where in arguments)

    def _whole_numbers(self) -> frozenset[str]:
        """Names of attributes that are whole numbers in every class that has them."""
        kinds: dict[str, set[str]] = {}
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, ast.ClassDef):
                    for each in node.body:
                        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                            kinds.setdefault(each.target.id, set()).add(ast.unparse(each.annotation))
        return frozenset(name for name, found in kinds.items() if found == {"int"})


def _is_method(module: Module, function: _Function) -> bool:
    return isinstance(module.parents.get(function), ast.ClassDef)


def _is_promise(function: _Function) -> bool:
    """Whether a method of a protocol only says what others return."""
    return all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in function.body)


def _fits(call: ast.Call, function: _Function) -> bool:
    """Whether a method takes as many arguments as a call gives."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return True
    given = {each.arg for each in call.keywords}
    names = [each.arg for each in _parameters(function)][1:]
    needed = len(function.args.args) - 1 - len(function.args.defaults)
    places = len(function.args.args) - 1
    return (needed - len(given) <= len(call.args) <= (places if function.args.vararg is None else len(call.args))) and (
        given <= set(names) or function.args.kwarg is not None
    )


def _parameters(function: _Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _argument(call: ast.Call, function: _Function, name: str, *, method: bool) -> ast.expr | None:
    """What a call gives to a parameter; None for its default."""
    for keyword in call.keywords:
        if keyword.arg in (name, None):
            return keyword.value
    if any(isinstance(each, ast.Starred) for each in call.args):
        return next(each for each in call.args if isinstance(each, ast.Starred))
    static = any(ast.unparse(each) == "staticmethod" for each in function.decorator_list)
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)][method and not static :]
    place = names.index(name) if name in names else len(call.args)
    return call.args[place] if place < len(call.args) else None


def _bound(function: ast.AST, name: str) -> Iterator[tuple[ast.expr | str, int | None]]:
    """What a name stands for in a function, with its place where it stands for part of a tuple.

    That is expressions, and the names of attributes that patterns capture.
    """
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _unpacked(target, value, name)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from _unpacked(target, value, name)
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                yield from _unpacked(target, value, name)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield from _unpacked(target, value, name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append" | "extend" | "insert")):
                if owner == name:
                    yield from ((each, None) for each in node.args)
            case ast.MatchClass(kwd_attrs=attributes, kwd_patterns=patterns):
                for attribute, pattern in zip(attributes, patterns, strict=True):
                    if isinstance(pattern, ast.MatchAs) and pattern.name == name:
                        yield attribute, None


def _assigned(around: ast.ClassDef, attribute: str) -> Iterator[tuple[ast.expr, int | None]]:
    """What is assigned to an attribute of `self`, with its place where it stands for part of a tuple."""

    def is_it(target: ast.expr) -> bool:
        return ast.unparse(target) == f"self.{attribute}"

    for node in ast.walk(around):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if is_it(target):
                        yield value, None
                    elif isinstance(target, ast.Tuple):
                        yield from ((value, place) for place, each in enumerate(target.elts) if is_it(each))
            case ast.AnnAssign(target=target, value=ast.expr() as value) if is_it(target):
                yield value, None
            case ast.AugAssign(target=target, value=value) if is_it(target):
                yield value, None


def _unpacked(target: ast.expr, value: ast.expr, name: str) -> Iterator[tuple[ast.expr, int | None]]:
    match target:
        case ast.Name(id=found) if found == name:
            yield value, None
        case ast.Tuple(elts=targets):
            for place, each in enumerate(targets):
                if isinstance(each, ast.Name) and each.id == name:
                    yield value, place
                elif any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(each)):
                    yield value, None
