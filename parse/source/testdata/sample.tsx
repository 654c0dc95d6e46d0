import d, { a as b, type T } from "./m";
import * as ns from 'x';
export * from "./q";
export { z } from './w';
const r = require("fs");
export default class Foo<T> extends Bar<T> implements I, J.K {
  private x: number = 1;
  @dec() static async m(a: string, { q, w }: P): Promise<T> { return this.x.foo(a); }
  arrow = (e) => e;
  get v() { return 1 }
}
abstract class Ab { abstract foo(): void; }
export interface I2 extends J { m(a: number): void; p: X; }
export type Al = Foo | Bar;
export enum En { A, B = 2 }
namespace N.M { export function f() {} }
declare module "mm" { }
export const foo = async (a, b = 1) => { helper(a); }, k = 3;
const obj = { m() {}, f: function() {}, g: () => 1, k: foo };
exports.foo = function(x) {};
module.exports = { a, b };
Foo.prototype.bar = function bar() { new Baz(1); };
export function over(a: string): void;
export function over(a: any) { let t: K<V> = a; arr.map(helper); typeof q; }
export default function() {}
function* gen() {}
declare function decl(x: number): string;
describe("x", () => { it("y", function() { run(); }); });
const C = () => <Comp.X a={handler}><div/><Foo b="1">{x}</Foo></Comp.X>
