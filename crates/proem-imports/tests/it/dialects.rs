//! The definitions of sources without a grammar, and the texts in them that must not count.

use proem_imports::symbols::MOST;

use crate::symbols::{check, symbols_at};

#[test]
fn c_in_the_styles_of_gnu_and_bsd() {
    let source = "\
/* Copies. */
static int
copy_line (const char *from, char *to)
{
  int local (int a);
  struct pair p = { 1, 2 };
  if (to)
    {
      helper (from);
    }
  return 0;
}

int prototype (int a);
extern void also (void) __attribute__ ((noreturn));

int
old_style(argc, argv)
	int argc;
	char *argv[];
{
	return 0;
}

__dead void
usage(void)
{
}

static const struct entry table[] = {
	{ \"a\", run },
};

struct line {
	char *text;
	int (*run)(int);
};

typedef struct {
	int a;
} pair_t;

enum colour { RED, GREEN };
#define MAX(a, b) \\
	((a) > (b))
#define LIMIT 7
struct line *find_line(struct line *l) {
	return l;
}
";
    check(
        "a.c",
        source,
        &[
            "Function copy_line 1 3 4 12",
            "Function old_style 17 18 21 23",
            "Function usage 25 26 27 28",
            "Constant table 30 30 30 32",
            "Type line 34 34 34 37",
            "Type pair_t 39 39 39 41",
            "Type colour 43 43 43 43",
            "Macro MAX 44 44 44 45",
            "Function find_line 47 47 47 49",
        ],
    );
}

#[test]
fn macros_around_a_function_are_not_its_name() {
    let source = "\
static void printflike(3, 4)
log_all(const char *fmt, ...)
{
}
int run(int a) UNUSED(a) {
}
DEFINE(x) int more(void) {
}
SYSCALL_DEFINE2(read, unsigned int, fd) {
}
";
    check(
        "a.c",
        source,
        &["Function log_all 1 2 3 4", "Function run 5 5 5 6", "Function more 7 7 7 8", "Function read 9 9 9 10"],
    );
}

#[test]
fn branches_of_the_preprocessor_open_a_body_once() {
    let source = "\
#ifdef A
int run(int a) {
#else
int run(void) {
#endif
    if (x) {
#if B
    }
    else {
#else
    } {
#endif
    }
}
int next(void) {
}
";
    check("a.c", source, &["Function run 2 2 2 3", "Function run 4 4 4 14", "Function next 15 15 15 16"]);
}

#[test]
fn a_body_deep_in_a_long_file_is_found() {
    let mut source = "#error don't {\n".to_owned();
    for number in 0..1_500 {
        source.push_str(&format!("static int\nf{number}(void)\n{{ call(\"}}\", '{{'); }}\n"));
    }
    source.push_str("void\nlast(void)\n{\n}\n");
    let found = symbols_at("a.c", &source);
    let last = found.last().map(|symbol| (symbol.name.as_str(), symbol.own_line, symbol.last_line));
    assert_eq!((found.len(), last), (1_501, Some(("last", 4_503, 4_505))));
}

#[test]
fn cpp_and_its_members_outside_of_classes() {
    let source = "\
namespace store {
template <typename T = int>
class EXPORT Table final : public Base<T> {
 public:
  explicit Table(int a) : a_(a), b_{a} {}
  ~Table() override = default;
  int size() const { return a_; }
  bool operator==(const Table& other) const {
    return true;
  }
  void declared(int a);
 private:
  int a_ = 0;
};

Status Table::Get(const Key& key,
                  Value* value) {
  auto f = [&](int a) { return a; };
  return f(1);
}

template <typename T>
Table<T>::Table(int a) : b_{a}, a_(a) {
}

Table::~Table() {
}

auto shape(int a) -> std::vector<int> {
}
struct hash<Key> {
};
}  // namespace store

extern \"C\" {
int in_c(void) {
}
}
TEST_F(TableTest, Reopens) {
}
std::string text = R\"(
void none() {
}
)\";
";
    check(
        "a.cc",
        source,
        &[
            "Module store 1 1 1 33",
            "  Type Table 2 3 3 14",
            "    Method Table 5 5 5 5",
            "    Method size 7 7 7 7",
            "    Method operator== 8 8 8 10",
            "  Method Table::Get 16 16 17 20",
            "  Method Table::Table 22 23 23 24",
            "  Method Table::~Table 26 26 26 27",
            "  Function shape 29 29 29 30",
            "  Type hash 31 31 31 32",
            "Function in_c 36 36 36 37",
            "Function TableTest.Reopens 39 39 39 40",
        ],
    );
    check("a.h", "class A {\n  void f() {}\n};\n", &["Type A 1 1 1 3", "  Method f 2 2 2 2"]);
    check("a.m", "@implementation Shape\n- (void)draw:(int)x {\n}\n@end\n", &["Method draw 1 2 2 3"]);
}

#[test]
fn c_sharp() {
    let source = "\
using System;
namespace Store
{
    /// <summary>Reads.</summary>
    [Serializable]
    public class Reader<T> : Base where T : new()
    {
        private readonly Func<int> _f = () => { return 1; };
        public int Size { get; set; }
        public string Name => \"}\";

        public Reader(int a) : base(a)
        {
            int Local(int b) { return b; }
        }

        public override async Task<bool> ReadAsync(int a)
        {
            if (a > 0)
            {
            }
        }

        public int Twice(int a) => a * 2;
        protected abstract void Missing();
        public static bool operator ==(Reader<T> a, Reader<T> b) { return true; }
    }

    public interface IReader
    {
        void Read(int a);
    }

    public record Point(int X, int Y);
    public enum Colour { Red }
}
";
    check(
        "A.cs",
        source,
        &[
            "Module Store 2 2 3 36",
            "  Type Reader 4 6 7 27",
            "    Method Size 9 9 9 9",
            "    Method Name 10 10 10 10",
            "    Method Reader 12 12 13 15",
            "    Method ReadAsync 17 17 18 22",
            "    Method Twice 24 24 24 24",
            "    Method Missing 25 25 25 25",
            "    Method operator== 26 26 26 26",
            "  Interface IReader 29 29 30 32",
            "    Method Read 31 31 31 31",
            "  Type Point 34 34 34 34",
            "  Type Colour 35 35 35 35",
        ],
    );
}

#[test]
fn kotlin() {
    let source = "\
/** A call. */
@Suppress(\"x\")
internal data class Call(
    val a: Int,
) : Base() {
    init {
        run()
    }
    constructor(b: String) : this(1)
    override fun close() = lock.withLock {
        fun inner() {}
    }
    suspend fun <T : Any> List<T>.first(): T? {
        val text = \"\"\"
fun none() {
\"\"\"
        return null
    }
    companion object {
        fun of() = Call(1)
    }
    val size: Int get() = 1
}
fun interface Run
object Single
fun `with blanks`() {
}
fun unindented() {
call {
}
}
";
    check(
        "a.kt",
        source,
        &[
            "Type Call 1 3 3 23",
            "  Method init 6 6 6 8",
            "  Method constructor 9 9 9 9",
            "  Method close 10 10 10 12",
            "  Method first 13 13 13 18",
            "  Type Companion 19 19 19 21",
            "    Method of 20 20 20 20",
            "Interface Run 24 24 24 24",
            "Type Single 25 25 25 25",
            "Function with blanks 26 26 26 27",
            "Function unindented 28 28 28 31",
        ],
    );
}

#[test]
fn swift_and_scala() {
    let source = "\
@available(macOS 10, *)
public final class Loop: Base {
    public init?(a: Int) {
    }
    deinit { stop() }
    private(set) var a = 1
    @inlinable
    mutating func run<T>(_ body: () -> T) -> T
    where T: P {
        let f = { class_(1) }
    }
    static func == (a: Loop, b: Loop) -> Bool { true }
}
extension Loop: CustomStringConvertible {
}
protocol P { }
";
    check(
        "a.swift",
        source,
        &[
            "Type Loop 1 2 2 13",
            "  Method init 3 3 3 4",
            "  Method deinit 5 5 5 5",
            "  Method run 7 8 8 11",
            "  Method == 12 12 12 12",
            "Extension Loop 14 14 14 15",
            "Interface P 16 16 16 16",
        ],
    );
    let source = "\
package a
sealed abstract class Tree[A](val x: Int)
    extends Base {
  private[core] def walk(f: A => Unit): Unit = {
    def inner() = 1
  }
  def + (b: Int) = b
  val text = \"\"\"
def none
\"\"\"
}
case object Leaf extends Tree
object Main:
  def run() =
    1
type Alias = Int
trait T
";
    check(
        "a.scala",
        source,
        &[
            "Type Tree 2 2 2 11",
            "  Method walk 4 4 4 6",
            "  Method + 7 7 7 7",
            "Type Leaf 12 12 12 12",
            "Type Main 13 13 13 15",
            "  Method run 14 14 14 15",
            "Type Alias 16 16 16 16",
            "Interface T 17 17 17 17",
        ],
    );
}

#[test]
fn php_and_ruby() {
    let source = "\
<p>class Don't {</p>
<?php
namespace App;
/**
 * A user.
 */
#[Entity]
final class User extends Model
{
    use HasName;
    public function &name(?int $a = null): string
    {
        $f = function ($x) { return fn () => 1; };
        $sql = <<<SQL
function none() {
SQL;
    }
    abstract protected function missing();
}
function helper() {
}
enum Suit: string { case A = 'a'; }
";
    check(
        "a.php",
        source,
        &[
            "Type User 4 8 8 19",
            "  Method name 11 11 11 17",
            "  Method missing 18 18 18 18",
            "Function helper 20 20 20 21",
            "Type Suit 22 22 22 22",
        ],
    );
    let source = "\
# A site.
module Site
  class Page < Struct.new(:a)
    attr_reader :class
    def self.load(path)
      text = <<~TEXT
        def none
      TEXT
    rescue IOError
      nil
    ensure
      done
    end

    def empty? = size == 0
    def []=(key, value)
    end
    private def save!
      if x
      end
    end
    class << self
      def find; end
    end
  end
end
=begin
def none
=end
def top
end
__END__
def none
";
    check(
        "a.rb",
        source,
        &[
            "Module Site 1 2 2 26",
            "  Type Page 3 3 3 25",
            "    Method load 5 5 5 13",
            "    Method empty? 15 15 15 15",
            "    Method []= 16 16 16 17",
            "    Method save! 18 18 18 21",
            "    Method find 23 23 23 23",
            "Function top 27 30 30 31",
        ],
    );
}

#[test]
fn elixir_lua_perl_r_and_shell() {
    check(
        "a.ex",
        "defmodule App.Store do\n  def get?(a) do\n    a\n  end\n  defp put(a), do: a\nend\n",
        &["Module App.Store 1 1 1 6", "  Function get? 2 2 2 4", "  Function put 5 5 5 5"],
    );
    check(
        "a.lua",
        "local function a(x)\n  if x then\n  end\nend\nfunction M.b:c()\nend\nM.d = function(x)\nend\nx = y == function_name\n",
        &["Function a 1 1 1 4", "Function c 5 5 5 6", "Function d 7 7 7 8"],
    );
    check("a.pl", "sub run {\n  my $x = { a => 1 };\n}\n=pod\nsub none {\n=cut\n", &["Function run 1 1 1 3"]);
    check("a.R", "clean.data <- function(x) {\n  x\n}\ny = 1\n", &["Function clean.data 1 1 1 3"]);
    let source = "\
#!/bin/sh
# Builds.
build() {
    cat <<'EOF'
none() {
EOF
    [ $# -gt 0 ] && echo \"}\"
}
function deploy-all
{
    build
}
build
if foo; then
    bar (x)
fi
";
    check("a.sh", source, &["Function build 2 3 3 8", "Function deploy-all 9 9 9 12"]);
}

#[test]
fn sql_makefiles_dockerfiles_and_terraform() {
    let source = "\
-- Users.
CREATE TABLE IF NOT EXISTS \"users\" (
  id int,
  note text DEFAULT 'create table none ;'
);
create or replace function app.total(a int) returns int as $$
begin
  select 1;
  if a then
    return 2;
  end if;
end;
$$ language plpgsql;
CREATE TRIGGER tidy AFTER INSERT ON users BEGIN
  DELETE FROM users;
END;
CREATE INDEX none ON users (id);
insert into users values (1);
";
    check("a.sql", source, &["Type users 1 2 2 5", "Function app.total 6 6 6 13", "Function tidy 14 14 14 16"]);
    let source = "\
CC := gcc
X = a:b
.PHONY: all
# Builds all.
all: a.o b.o
\t$(CC) none: x

\techo
%.o: %.c
define rule
none: x
endef
";
    check("Makefile", source, &["Function all 4 5 5 8", "Function %.o 9 9 9 9", "Macro rule 10 10 10 12"]);
    check(
        "Dockerfile.dev",
        "ARG A=1\nFROM --platform=x rust:1 AS build\nRUN echo FROM none\n\nFROM scratch\nCOPY --from=build /a /a\n",
        &["Function build 2 2 2 3", "Function scratch 5 5 5 6"],
    );
    let source = "\
# The web.
resource \"aws_instance\" \"web\" {
  tags = { name = \"}\" }
  lifecycle {
    ignore_changes = []
  }
}
variable \"size\" {}
locals {
  module = 1
}
data \"aws_ami\" \"base\" {
}
";
    check(
        "a.tf",
        source,
        &[
            "Type aws_instance.web 1 2 2 7",
            "Type var.size 8 8 8 8",
            "Type locals 9 9 9 11",
            "Type data.aws_ami.base 12 12 12 13",
        ],
    );
}

#[test]
fn components_and_notebooks() {
    let source = "\
<template>
  <script>none</script>
</template>

<script setup lang=\"ts\">
const open = (a: number): void => {
  a
}
export default { methods: { close() {} } }
</script>
<style scoped>
</style>
";
    check(
        "a.vue",
        source,
        &[
            "Module template 1 1 1 3",
            "Module script 5 5 5 10",
            "  Function open 6 6 6 8",
            "  Method close 9 9 9 9",
            "Module style 11 11 11 12",
        ],
    );
    let notebook = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"outputs\": [{\"text\": [\n    \"def none():\"]}],\n   \"source\": [\n    \"import a\\n\",\n    \"a.run()\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"source\": [\n    \"def price(a):\\n\",\n    \"    return a\"\n   ]\n  }\n ]\n}\n";
    check(
        "a.ipynb",
        notebook,
        &["Function cell 1 8 8 8 9", "Module cell 2 15 15 15 16", "  Function price 15 15 15 16"],
    );
}

#[test]
fn rust_and_python_with_their_traits_and_decorators() {
    check(
        "a.rs",
        "impl fmt::Display for Thing<'_> {\n    fn fmt(&self) {}\n}\nimpl<T> From<T> for crate::Other {\n}\n",
        &["Extension Thing 1 1 1 3", "  Method fmt 2 2 2 2", "Extension Other 4 4 4 5"],
    );
    check(
        "a.py",
        "class A:\n    @property\n    @cache(size=1)\n    def b(self):\n        pass\n",
        &["Type A 1 1 1 5", "  Method b 2 4 4 5"],
    );
}

#[test]
fn other_languages_by_the_words_that_begin_a_line() {
    check(
        "a.groovy",
        "class Thing {\n    def run(a) {\n        if (a) {\n        }\n    }\n    private void draw(int x) {\n    }\n}\n",
        &["Type Thing 1 1 1 8", "  Method run 2 2 2 5", "  Method draw 6 6 6 7"],
    );
    check("a.zig", "pub fn main() void {\n}\n", &["Function main 1 1 1 2"]);
    check("a.zig", "\n\n// nothing\n", &[]);
}

#[test]
fn what_is_written_to_be_slow_or_deep_is_bounded() {
    for (path, source) in [
        ("a.c", "{".repeat(300_000)),
        ("a.c", "int f(".repeat(60_000)),
        ("a.c", "#if A\nint f(void) {\n".repeat(20_000)),
        ("a.cc", "template<".repeat(60_000)),
        ("a.cc", "R\"x(".repeat(90_000)),
        ("a.cc", "namespace a {".repeat(20_000)),
        ("a.cs", "@\"".repeat(150_001)),
        ("a.kt", "/*".repeat(150_000)),
        ("a.kt", "fun <".repeat(60_000)),
        ("a.swift", "\"\"\" ".repeat(90_000)),
        ("a.rb", "x = <<~A\n".repeat(40_000)),
        ("a.rb", "class A\n".repeat(40_000)),
        ("a.php", "<?php ?>".repeat(40_000)),
        ("a.sh", "a() {\n".repeat(50_000)),
        ("a.sql", "create function a $a$".repeat(20_000)),
        ("Makefile", "a:\n".repeat(90_000)),
        ("a.vue", "<script>\n".repeat(30_000)),
        ("a.ipynb", "{\"cells\":[".repeat(30_000)),
    ] {
        assert!(symbols_at(path, &source).len() <= MOST, "{path}");
    }
}
