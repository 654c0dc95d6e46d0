"""module doc"""
from __future__ import annotations
import os.path as p, sys
from .a import b as c, d
from x import *
CONST: int = 1
y = 2
@dec.orator(1)
class A(Base, metaclass=Meta):
    """doc"""
    field: int = 3
    @property
    def m(self, q: List[int] = D) -> "X":
        """mdoc"""
        z = self.foo(q).bar
        for i, j in z: yield K.v
        return [k for k in map(fn, z)]
async def f(*args, **kw): pass
type X = int
lam = lambda x: x
