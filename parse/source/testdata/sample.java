package com.x.y;
import java.util.List;
import static a.B.c;
import z.*;
/** Doc */
@Anno(value = 1)
public final class Foo<T> extends Base<T> implements I, J {
  private static final int K = 1;
  public Foo(int a) { super(a); this.a = a; }
  @Override public List<T> get(String s, int... b) throws IOEx { int loc = K; return s.map(Foo::bar).filter(x -> x.z(loc)); }
  enum E { A, B { void q() {} } }
  interface In { void m(); default int d() { return new Bar<>().w(); } }
  record Rec(int a, String b) {}
  @interface An { int v(); }
}
