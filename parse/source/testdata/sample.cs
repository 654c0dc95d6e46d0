using System;
using static System.Math;
using X = Foo.Bar;
namespace A.B
{
    /// <summary>doc</summary>
    [Serializable]
    public class Foo<T> : Base<T>, IFoo where T : class
    {
        private const int K = 1;
        public string Name { get; set; }
        public Foo(int a) : base(a) { }
        public async Task<int> BarAsync(string s) { var x = new Baz(); return await s.Map(Helper).Do<int>(x, K); }
        public static Foo operator +(Foo a, Foo b) => a;
        event EventHandler Ev;
        delegate void Del(int a);
    }
    public interface IFoo { void M(); }
    public struct St { } public record Rec(int A); enum E { A, B }
}
