import Foundation
@testable import A.B
/// doc
@available(iOS 13, *)
public final class Foo<T: P>: Base<T>, Q where T: R {
    private let a: Int = 1
    static let shared = Foo()
    init(a: Int) { self.a = a; super.init() }
    deinit { }
    public func go(_ x: String, with y: [Bar]) throws -> Baz? { let loc = x.map(helper).filter { $0.z(loc) }; return Enum.case1 }
    var p: Int { return 1 }
    subscript(i: Int) -> T { a }
    enum In { case a, b(Int) }
}
protocol P: AnyObject { associatedtype Z; func m() -> Int; var q: Int { get } }
extension Foo: Codable { func ext() {} }
struct S { var x: Int }
enum E: String { case a = "x" }
typealias Al = [String: Foo]
let top = 1
func free<T>(a: T) -> Int { guard let q = a else { return K }; return Foo(a: 1).go("x", with: []) }
actor Act {}
public macro foo() = #externalMacro(module: "x")
