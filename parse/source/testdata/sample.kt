package a.b
import x.y.Z
import q.*
import w.e as r
const val K = 1
val top: Int = 2
/** doc */
@Anno
public abstract class Foo<T>(val a: Int, b: Bar) : Base<T>(a), Inter {
    companion object { const val C = 1; fun make() = Foo(1) }
    private fun go(x: String, f: (Int) -> Unit): List<T> { val loc = K; return x.map(::helper).let { it.z(loc) } ?: Other.Const }
    inner class In
    val p: Int get() = 1
}
interface I { fun m(): Int }
object Obj : I { override fun m() = 1 }
enum class E(val x: Int) { A(1), B(2); fun q() {} }
data class D(val a: Int)
sealed interface S
typealias Al = Map<String, Foo>
fun <T> List<T>.ext(q: T): Int where T : I = 3
suspend inline fun top(block: () -> Unit) { block(); Foo.make() }
annotation class Anno
