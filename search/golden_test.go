package search_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/ingest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shop indexes testdata/corpus with a small history of its own.
func shop(t testing.TB) (*search.Engine, func(rel string) project.Path) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(root, os.DirFS("testdata/corpus")); err != nil {
		t.Fatal(err)
	}
	day := 0
	git := func(args ...string) {
		t.Helper()
		day++
		date := fmt.Sprintf("2026-03-%02dT12:00:00Z", day)
		cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	touch := func(subject string, names ...string) {
		t.Helper()
		for _, name := range names {
			f, err := os.OpenFile(filepath.Join(root, name), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(f)
			f.Close()
			git("add", name)
		}
		git("commit", "-q", "-m", subject)
	}
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "A shop")
	touch("Expire old logins", "server/session_store.go", "config/server.toml")
	touch("Sessions last a day", "server/session_store.go", "config/server.toml", "docs/operations.md")
	touch("Round totals to whole cents", "client/src/cart.ts", "client/src/cart.test.ts")
	touch("Discounts on the basket", "client/src/cart.ts", "client/src/money.ts", "client/src/cart.test.ts")

	c, err := project.Home{Dir: t.TempDir()}.Create("shop")
	if err != nil {
		t.Fatal(err)
	}
	repo, _, err := c.Claim(root)
	if err != nil {
		t.Fatal(err)
	}
	s, err := project.Resolve(c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.Ingest(context.Background(), ingest.Options{Context: c, Settings: &s.Settings}); err != nil {
		t.Fatal(err)
	}
	e, err := search.Open(c.IndexDir(), &s.Settings, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e, func(rel string) project.Path {
		p, ok := project.NewPath(repo.Name, rel)
		if !ok {
			t.Fatalf("no path: %q", rel)
		}
		return p
	}
}

// golden are queries with the file that a person would want first. The golden files show
// every term of every score, so that a change of the ranking is a readable diff;
// stats.txt sums it up.
var golden = []struct{ name, query, want string }{
	{"symbol_class", "Router", "server/router.go"},
	{"symbol_method", "SessionStore.Lookup", "server/session_store.go"},
	{"symbol_other_case", "formatprice", "client/src/money.ts"},
	{"symbol_snake", "render_receipt", "worker/src/mailer.py"},
	{"sentence", "how are failed jobs tried again", "worker/src/queue.rs"},
	{"sentence_with_name", "what does Cart.total do with a discount", "client/src/cart.ts"},
	{"stems", "matching paths to handlers", "server/router.go"},
	{"panic", "turn a panic into an error response", "server/middleware.go"},
	{"tests_asked", "tests of the cart", "client/src/cart.test.ts"},
	{"config_asked", "server configuration session lifetime", "config/server.toml"},
	{"docs_asked", "documentation of retries", "docs/operations.md"},
	{"commit_subject", "discounts on the basket", "client/src/cart.ts"},
	{"expiry", "remove expired login sessions", "server/session_store.go"},
	{"mail", "send order confirmation mail", "worker/src/mailer.py"},
}

func TestGolden(t *testing.T) {
	e, _ := shop(t)
	compare := func(name, got string) {
		t.Helper()
		file := filepath.Join("testdata", "golden", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != got {
			t.Errorf("%s differs from what the ranking gives (run `just golden` and look at the diff):\n%s", file, got)
		}
	}
	if *update {
		if err := os.MkdirAll("testdata/golden", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	first, within5, reciprocal := 0, 0, 0.0
	var stats strings.Builder
	for _, g := range golden {
		res, err := e.Search(context.Background(), search.Query{Text: g.query, Limit: 5, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "query: %s\nwant:  %s\nlegs:  lexical %d, semantic %d, symbol %d, commits %d\n", g.query, g.want,
			res.Trace.Candidates["lexical"], res.Trace.Candidates["semantic"], res.Trace.Candidates["symbol"], res.Trace.Candidates["commits"])
		rank := 0
		for i, r := range res.Results {
			mark := ""
			if r.Path.Rel == g.want {
				mark = "  ← wanted"
				if rank == 0 {
					rank = i + 1
				}
			}
			fmt.Fprintf(&b, "\n%d. %s:%d-%d %s%s\n   score %.2f  cosine %.1f  coverage %.2f\n", i+1, r.Path.Rel, r.Start, r.End, r.Symbol, mark, r.Score, r.Cosine, r.Coverage)
			for _, term := range r.Terms {
				fmt.Fprintf(&b, "   %s %5.2f %s\n", term.Op, term.Value, term.Name)
			}
		}
		compare(g.name, b.String())
		if rank == 1 {
			first++
		}
		if rank > 0 {
			within5++
			reciprocal += 1 / float64(rank)
		}
		fmt.Fprintf(&stats, "%-20s rank %d\n", g.name, rank)
	}
	n := len(golden)
	fmt.Fprintf(&stats, "\nrecall@1 %.2f\nrecall@5 %.2f\nMRR      %.2f\n", float64(first)/float64(n), float64(within5)/float64(n), reciprocal/float64(n))
	compare("stats", stats.String())
}
