"""A shorter way through numba, for the code that kernels are made of: plain loops over arrays.

Most of what a compilation takes is numba's passes, and the size of the code that they give to LLVM. Kernels have no
closures, generators, parallel loops or array expressions, so the passes for these are left out; and elements of
arrays, fields of named tuples and lengths are lowered to the few instructions that they are. Indexes are never
negative: `a[-1]` is not the last element here. With NUMBA_BOUNDSCHECK=1 an index outside is an IndexError, a
negative one too.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from llvmlite.ir import IntType
from numba.core import cgutils, ir, types
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import (
    BaseNativeLowering,
    IRLegalization,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.np.arrayobj import load_item, store_item

_INDEX = IntType(32)


class _Place(NamedTuple):
    """A value that is not loaded as a whole: a part of a variable's slot, or of a value."""

    pointer: Any  # of the slot, or None
    value: Any
    path: tuple[int, ...]


class _Lower(Lower):  # type: ignore[misc]
    """Lowers functions to fewer instructions than numba does."""

    def init(self) -> None:
        """Count the values that each variable gets."""
        super().init()
        statements = (one for block in self.blocks.values() for one in block.find_insts(ir.Assign))
        self._values = Counter(one.target.name for one in statements)

    def lower_block(self, block: Any) -> None:
        """Lower a block."""
        self.pre_block(block)
        for statement in block.body:
            self.loc = statement.loc
            self.lower_inst(statement)
        self.post_block(block)

    def lower_inst(self, inst: Any) -> None:
        """Lower a statement."""
        if isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Expr) and self._keep_place(inst):
            return
        if isinstance(inst, ir.SetItem | ir.StaticSetItem):
            index = inst.index if isinstance(inst, ir.SetItem) else inst.index_var
            array = self.typeof(inst.target.name)
            pointer = self._element(inst.target.name, array, index and index.name)
            if pointer is not None:
                value, kind = self.loadvar(inst.value.name), self.typeof(inst.value.name)
                value = self.context.cast(self.builder, value, kind, array.dtype)
                store_item(self.context, self.builder, array, value, pointer)
                return
        super().lower_inst(inst)

    # ---- values that are loaded when somebody wants them

    def _keep_place(self, inst: Any) -> bool:
        """Remember where a part of a tuple or of an array is, if it is used in this block only; tell whether."""
        name, expr = inst.target.name, inst.value
        if self.context.enable_nrt or name not in self._singly_assigned_vars:
            return False
        if expr.op == "build_tuple":
            kinds = self.typeof(name)
            if all(isinstance(kind, types.Integer) for kind in kinds):
                items = zip(expr.items, kinds, strict=True)
                self._blk_local_varmap[name] = [self._cast_var(item, kind) for item, kind in items]
                return True
            return False
        if expr.op not in ("getattr", "static_getitem", "exhaust_iter"):
            return False
        position = self._position(self.typeof(expr.value.name), expr)
        if position is None:
            return False
        place = self._place(expr.value.name)
        if place is None:
            return False
        self._blk_local_varmap[name] = place._replace(path=(*place.path, *position))
        return True

    def _position(self, kind: Any, expr: Any) -> tuple[int, ...] | None:
        """Return which part of a value an expression is, or None if it is none."""
        if isinstance(kind, types.BaseTuple):
            if expr.op == "exhaust_iter":
                return ()
            if expr.op == "static_getitem":
                return (expr.index,) if isinstance(expr.index, int) and expr.index >= 0 else None
            if isinstance(kind, types.BaseNamedTuple) and expr.attr in kind.fields:
                return (kind.fields.index(expr.attr),)
        if isinstance(kind, types.Array) and expr.op == "getattr" and expr.attr == "shape":
            return (self._field(kind, "shape"),)
        return None

    def _field(self, kind: Any, name: str) -> int:
        position: int = self.context.data_model_manager[kind].get_field_position(name)
        return position

    def _place(self, name: str) -> _Place | None:
        """Return where a variable is that has one value only, or None."""
        value = self._blk_local_varmap.get(name)
        if isinstance(value, _Place):
            return value
        if value is not None:
            return None if isinstance(value, list) else _Place(None, value, ())
        if name in self._singly_assigned_vars or self._values[name] != 1:
            return None
        return _Place(self.getvar(name), None, ())

    def _load(self, place: _Place, *path: int) -> Any:
        """Return a part of a place."""
        path = (*place.path, *path)
        if place.pointer is None:
            return self.builder.extract_value(place.value, path) if path else place.value
        pointer = place.pointer
        if path:
            pointer = self.builder.gep(pointer, [_INDEX(0), *map(_INDEX, path)], inbounds=True)
        return self.builder.load(pointer)

    def loadvar(self, name: str) -> Any:
        """Return the value of a variable."""
        value = self._blk_local_varmap.get(name)
        if isinstance(value, _Place):
            value = self._blk_local_varmap[name] = self._load(value)
        elif isinstance(value, list):
            value = self._blk_local_varmap[name] = self.context.make_tuple(self.builder, self.typeof(name), value)
        return super().loadvar(name) if value is None else value

    # ---- variables, where no references are counted

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Set a variable."""
        if self.context.enable_nrt or name in self._singly_assigned_vars:
            super().storevar(value, name, argidx)
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    # ---- elements of arrays

    def _element(self, name: str, array: Any, index: str | None) -> Any:
        """Return a pointer to one element of an array, or None if something else is asked for."""
        if not isinstance(array, types.Array) or array.layout != "C" or index is None:
            return None
        kind = self.typeof(index)
        kinds = tuple(kind) if isinstance(kind, types.BaseTuple) else (kind,)
        if len(kinds) != array.ndim or not all(isinstance(one, types.Integer) for one in kinds):
            return None
        found = self._blk_local_varmap.get(index)
        if not isinstance(found, list):
            found = self.loadvar(index)
            if isinstance(kind, types.BaseTuple):
                found = cgutils.unpack_tuple(self.builder, found, len(kinds))
            else:
                found = [found]
        builder, context = self.builder, self.context
        indexes = [context.cast(builder, one, of, types.intp) for one, of in zip(found, kinds, strict=True)]
        place = self._blk_local_varmap.get(name)
        if not isinstance(place, _Place):
            place = _Place(self.getvar(name), None, ()) if place is None else _Place(None, place, ())
        shape = self._field(array, "shape")
        if context.enable_boundscheck:
            for axis, one in enumerate(indexes):
                cgutils.do_boundscheck(context, builder, one, self._load(place, shape, axis), axis)
        at = indexes[0]
        for axis, one in enumerate(indexes[1:], 1):
            at = builder.add(builder.mul(at, self._load(place, shape, axis)), one)
        return builder.gep(self._load(place, self._field(array, "data")), [at])

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Return an element, or whatever else numba can take from a value."""
        array = self.typeof(value.name)
        pointer = self._element(value.name, array, index.name)
        if pointer is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        found = load_item(self.context, self.builder, array, pointer)
        return self.context.cast(self.builder, found, array.dtype, resty)

    def lower_call(self, resty: Any, expr: Any) -> Any:
        """Call a function; the length of an array is a part of it."""
        called = self.typeof(expr.func.name)
        if isinstance(called, types.Function) and called.typing_key is len:
            array = self.typeof(expr.args[0].name)
            place = self._place(expr.args[0].name) if isinstance(array, types.Array) else None
            if place is not None:
                return self._load(place, self._field(array, "shape"), 0)
        counted = self.context.enable_nrt or not isinstance(called, types.Dispatcher)
        if not counted and self.context.data_model_manager[resty].contains_nrt_meminfo():
            raise TypeError(f"{self.fndesc.qualname} is to say that it allocates, as {called} does")
        return super().lower_call(resty, expr)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Return the result of an operator, which has no form of its own for constants."""
        if op in (operator.pow, operator.ipow):
            return super().lower_binop(resty, expr, op)
        context, signature = self.context, self.fndesc.calltypes[expr]
        values = [self._cast_var(one, of) for one, of in zip((expr.lhs, expr.rhs), signature.args, strict=True)]
        found = context.typing_context.resolve_value_type(op)
        called = found.get_call_type(context.typing_context, signature.args, {})
        result = context.get_function(found, called)(self.builder, values)
        return context.cast(self.builder, result, signature.return_type, resty)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(BaseNativeLowering):  # type: ignore[misc]
    _name = "sparkleene_lowering"
    lowering_class = _Lower


_FIXED = (ir.Const, ir.Global, ir.FreeVar)  # what has a value that is known when a kernel is compiled


@register_pass(mutates_CFG=False, analysis_only=False)
class _FixedIndexes(FunctionPass):  # type: ignore[misc]
    """Tells numba which part of a tuple `t[1]` is. Its other rewrites are for code that kernels do not have."""

    _name = "sparkleene_fixed_indexes"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Rewrite a function."""
        for block in state.func_ir.blocks.values():
            for one in block.find_insts(ir.Assign):
                expr = one.value
                if not isinstance(expr, ir.Expr) or expr.op != "getitem":
                    continue
                try:
                    found = state.func_ir.get_definition(expr.index)
                except KeyError:  # not defined in one place
                    continue
                if isinstance(found, _FIXED) and isinstance(found.value, int | np.integer):
                    one.value = ir.Expr.static_getitem(expr.value, found.value, expr.index, expr.loc)
        return True


_UNTYPED = (TranslateByteCode, FixupArgs, IRProcessing, _FixedIndexes, ReconstructSSA)
_TYPED = (NopythonTypeInference, PreLowerStripPhis)
_LOWERING = (_Lowering, NoPythonBackend)


class Passes(PassManager):  # type: ignore[misc]
    """The passes that kernels need, without checks in between."""

    def __init__(self, allocates: bool) -> None:
        super().__init__("sparkleene")
        for one in (*_UNTYPED, *_TYPED, *((IRLegalization,) if allocates else ()), *_LOWERING):
            self.add_pass(one, one.__name__)
        self.finalize()

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        pss.analysis = self._analysis
        pss.run_pass(internal_state)


_RESOLVED: dict[tuple[Any, Any], Any] = {}


def _resolve_once(called: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the signature by which a function of numba's is called with arguments of these types."""
    if kws:
        return _resolve(called, context, args, kws)
    found = _RESOLVED.get((called, args))
    if found is None:
        found = _RESOLVED[called, args] = _resolve(called, context, args, kws)
    return found


def _call_helper(called: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the signature by which a helper is called: it has no form of its own for constants."""
    if (called.dispatcher.py_func.__module__ or "").startswith(_PACKAGE):
        args = tuple(types.unliteral(one) for one in args)
    return _call(called, context, args, kws)


def _keep_lifetimes(of: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Note where variables live, to be found out if somebody asks: nobody does where no references are counted."""
    if emit_dels or of.func_ir.is_generator:
        _process(of, emit_dels, extend_lifetimes)
        return
    of.func_ir.blocks = canonicalize_cfg(of.func_ir.blocks)
    of.func_ir.variable_lifetime, of.func_ir.generator_info = VariableLifetime(of.func_ir.blocks), None


_PACKAGE = __name__.rpartition(".")[0]
_resolve, _call, _process = types.Function.get_call_type, types.Dispatcher.get_call_type, PostProcessor.run


@contextmanager
def with_memory() -> Iterator[None]:
    """Remember what operators and functions do with arguments of given types: numba finds it out at every use."""
    before = types.Function.get_call_type, types.Dispatcher.get_call_type, PostProcessor.run
    types.Function.get_call_type, types.Dispatcher.get_call_type = _resolve_once, _call_helper
    PostProcessor.run = _keep_lifetimes
    try:
        yield
    finally:
        types.Function.get_call_type, types.Dispatcher.get_call_type, PostProcessor.run = before
