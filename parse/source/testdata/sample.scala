package a.b
package c
import x.y.{Z, Q => R}
import w._
/** doc */
@deprecated
sealed abstract class Foo[T <: Bar](val a: Int, b: Baz = D) extends Base[T](a) with Tr with Tr2[X] {
  private val loc = 1
  def go(x: String)(implicit ev: Ev[T]): List[T] = { val q = x.map(helper).filter(_.z(loc)); Foo.make(q) }
  type Al = Map[String, Foo]
  object In
}
object Foo extends App { def make(x: Int) = new Foo(1); val K = 3; implicit val inst: Show[Int] = ??? ; case class CC(a: Int) }
trait Tr { def m: Int }
enum E { case A, B }
given intOrd: Ord[Int] with { def c(x: Int) = 1 }
extension (x: Int) def dbl = x * 2
val topv = 1
