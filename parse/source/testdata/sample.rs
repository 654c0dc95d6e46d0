//! crate doc
use std::{fmt, io::{self, Read as R}};
use crate::a::b;
mod foo;
/// Doc
#[derive(Debug)]
pub struct S<T: Tr> { pub a: Vec<T>, b: io::Error }
pub enum E { A(u8), B { x: S<u8> } }
pub(crate) trait Tr: Super { const Z: u8; type Out; fn m(&self) -> u8; }
impl<T> fmt::Display for S<T> where T: Tr {
    pub fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let x = self.a.iter().map(helper).collect::<Vec<_>>();
        write!(f, "{}", foo::bar(x))?;
        E::A(1); match q { E::B { x } => x, CONST => 1, Some(y) if y > 1 => S { a: 1 } };
    }
}
macro_rules! mm { ($x:expr) => { $x } }
pub const K: u8 = 1; static ST: u8 = 2; type Al = S<u8>;
mod inner { pub fn g() {} }
