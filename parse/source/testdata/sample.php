<?php
namespace A\B;
use Foo\Bar as Baz, X\Y;
use function Z\f;
require_once __DIR__ . '/a.php';
const K = 1;
/** doc */
#[Attr]
abstract class Foo extends Base implements I, J {
  use SomeTrait;
  const C = 2;
  private ?Bar $x = null;
  public function __construct(private readonly Logger $log) { parent::__construct(); $this->go(new Baz(), self::C, Lvl::Debug); }
  abstract protected static function st(array $a): ?string;
}
interface I extends H { }
trait T { }
enum Lvl: string { case Debug = 'x'; public static function fromName(): self { return static::a(); } }
function helper(int $a, string ...$b): array { return array_map(fn($q) => $q->z(), $b); }
define('DD', 1);
$v = function() { helper(1); Foo::make(); return new class extends Q {}; };
