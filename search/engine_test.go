package search_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
)

func TestRefs(t *testing.T) {
	e, path := shop(t)
	refs, err := e.Refs(context.Background(), search.RefsQuery{Name: "matchPath"})
	if err != nil {
		t.Fatal(err)
	}
	if len(refs.Definitions) != 1 || refs.Definitions[0].Path != path("server/router.go") {
		t.Fatalf("definitions %+v", refs.Definitions)
	}
	var got []string
	for _, r := range refs.References {
		got = append(got, r.Path.Rel+" "+r.In+" "+r.Kind+" "+r.Why)
	}
	want := []string{"server/router.go Router.ServeHTTP call same file", "server/router_test.go TestMatchPath call the only definition of that name"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// What is excluded is not counted either.
	some, err := e.Refs(context.Background(), search.RefsQuery{Name: "matchPath", Exclude: []search.LineRange{{Path: path("server/router.go")}}})
	if err != nil || some.Total != 1 {
		t.Errorf("total %d, %v", some.Total, err)
	}
	none, err := e.Refs(context.Background(), search.RefsQuery{Name: "nobody\x00knows"})
	if err != nil || len(none.Definitions)+len(none.References) != 0 {
		t.Errorf("%+v %v", none, err)
	}
}

func TestRelated(t *testing.T) {
	e, path := shop(t)
	related := func(p project.Path) (out []string) {
		res, err := e.Related(context.Background(), search.RelatedQuery{Path: p})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range res.Files {
			out = append(out, f.Path.Rel+": "+strings.Join(f.Reasons, "; "))
		}
		return out
	}
	for file, want := range map[string]string{
		"client/src/cart.ts":      "client/src/cart.test.ts: changed together in 3 of 3 commits; its test, by name; imports it; uses Cart",
		"client/src/cart.test.ts": "client/src/cart.ts: changed together in 3 of 3 commits; what it tests, by name; imported by it",
		"tests/test_mailer.py":    "worker/src/mailer.py: changed together in 1 of 1 commits; what it tests, by name; imported by it",
		"server/never_seen.go":    "server/middleware.go: same folder",
	} {
		if got := related(path(file)); len(got) == 0 || !strings.HasPrefix(got[0], want) {
			t.Errorf("related to %s:\n%s\nwant first: %s", file, strings.Join(got, "\n"), want)
		}
	}
}

func TestContext(t *testing.T) {
	e, _ := shop(t)
	ask := func(q search.ContextQuery) *search.Bundle {
		b, err := e.Context(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := ask(search.ContextQuery{Text: "sessions expire"})
	roles := map[string]string{}
	for _, i := range b.Items {
		if roles[i.Path.Rel] == "" {
			roles[i.Path.Rel] = i.Role
		}
	}
	if roles["server/session_store.go"] != "match" || roles["config/server.toml"] == "" {
		t.Errorf("%v", roles)
	}
	small := ask(search.ContextQuery{Text: "sessions expire", Budget: 12})
	if small.Used > 12 || small.Cut == 0 || len(small.Items) == 0 {
		t.Errorf("used %d of 12, cut %d, %d items", small.Used, small.Cut, len(small.Items))
	}
	for _, i := range ask(search.ContextQuery{Text: "sessions expire", Content: "none"}).Items {
		if i.Text != "" {
			t.Errorf("content none has text: %q", i.Text)
		}
	}
	if _, err := e.Context(context.Background(), search.ContextQuery{Text: "x", Unit: "pages"}); err == nil {
		t.Error("an unknown unit is no error")
	}
}

func TestSearchFilters(t *testing.T) {
	e, path := shop(t)
	files := func(q search.Query) map[string]bool {
		res, err := e.Search(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, r := range res.Results {
			out[r.Path.Rel] = true
		}
		return out
	}
	for name, tc := range map[string]struct {
		q    search.Query
		only func(rel string) bool
	}{
		"language": {search.Query{Text: "total order price", Language: "python"}, func(rel string) bool { return strings.HasSuffix(rel, ".py") }},
		"glob":     {search.Query{Text: "total price", PathGlob: "*.ts"}, func(rel string) bool { return strings.HasSuffix(rel, ".ts") }},
		"under":    {search.Query{Text: "server session", Under: []project.Path{path("server")}}, func(rel string) bool { return strings.HasPrefix(rel, "server/") }},
		"exclude":  {search.Query{Text: "session", Exclude: []project.Path{path("server")}}, func(rel string) bool { return !strings.HasPrefix(rel, "server/") }},
	} {
		for _, mode := range []search.Mode{search.Hybrid, search.Lexical, search.Semantic} {
			tc.q.Mode = mode
			got := files(tc.q)
			if len(got) == 0 {
				t.Errorf("%s, %s: nothing found", name, mode)
			}
			for rel := range got {
				if !tc.only(rel) {
					t.Errorf("%s, %s: %s", name, mode, rel)
				}
			}
		}
	}
	if _, err := e.Search(context.Background(), search.Query{Text: "x", PathGlob: "[a"}); err == nil {
		t.Error("a malformed pattern is no error")
	}
	if _, err := e.Search(context.Background(), search.Query{Text: "x", Mode: "psychic"}); err == nil {
		t.Error("an unknown mode is no error")
	}
	res, err := e.Search(context.Background(), search.Query{Text: "session", Limit: 30, PerFile: 1})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[project.Path]bool{}
	for _, r := range res.Results {
		if seen[r.Path] {
			t.Errorf("%s twice", r.Path.Rel)
		}
		seen[r.Path] = true
	}
}

// The same index and query give the same answer, whoever asks and however often.
func TestDeterministic(t *testing.T) {
	e, path := shop(t)
	ask := func() any {
		ctx := context.Background()
		s, err1 := e.Search(ctx, search.Query{Text: "how are expired sessions removed", Explain: true})
		b, err2 := e.Context(ctx, search.ContextQuery{Text: "discounts in the cart"})
		r, err3 := e.Related(ctx, search.RelatedQuery{Path: path("client/src/cart.ts")})
		f, err4 := e.Refs(ctx, search.RefsQuery{Name: "Cart"})
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		s.Trace.Timings, b.Trace.Timings, r.Trace.Timings, f.Trace.Timings = nil, nil, nil, nil
		return []any{s, b, r, f}
	}
	first := ask()
	for range 20 {
		if diff := cmp.Diff(first, ask(), cmpopts.IgnoreUnexported(search.Result{})); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestSymbolsOfAnUnknownFile(t *testing.T) {
	e, path := shop(t)
	if _, err := e.Symbols(path("no/such.go")); !errors.Is(err, search.ErrNoFile) {
		t.Errorf("%v", err)
	}
	symbols, err := e.Symbols(path("worker/src/queue.rs"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range symbols {
		got = append(got, s.Kind+" "+s.Scope+"."+s.Name)
	}
	want := []string{"struct .Job", "struct .Queue", "method Queue.new", "method Queue.push", "method Queue.retry", "function .backoff"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// No query breaks anything.
func FuzzSearch(f *testing.F) {
	e, _ := shop(f)
	for _, q := range []string{"", "?", "a.b::c->d", "\x00\xff", strings.Repeat("session ", 2000), "'; DROP TABLE files; --", "💥 unicode ünd so", "*", "the of and"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ctx := context.Background()
		res, err := e.Search(ctx, search.Query{Text: text})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for i := 1; i < len(res.Results); i++ {
			if res.Results[i-1].Score < res.Results[i].Score {
				t.Fatalf("%q: out of order", text)
			}
		}
		if _, err := e.Refs(ctx, search.RefsQuery{Name: text}); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
