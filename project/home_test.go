package project

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tempDir is t.TempDir with symbolic links resolved, as Root is.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t testing.TB, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, text string, parts ...string) string {
	t.Helper()
	name := filepath.Join(parts...)
	mkdir(t, filepath.Dir(name))
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func symlink(t testing.TB, target string, parts ...string) string {
	t.Helper()
	name := filepath.Join(parts...)
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
	return name
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com",
		"-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always", "-c", "core.hooksPath=/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// gitRepository makes a repository with one commit.
func gitRepository(t testing.TB, dir string) string {
	t.Helper()
	mkdir(t, dir)
	git(t, dir, "init", "-q")
	write(t, "one\n", dir, "sub", "file.txt")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

// claimed makes a context that claims roots.
func claimed(t testing.TB, h Home, name string, ingested time.Time, roots ...string) *Context {
	t.Helper()
	c, err := h.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range roots {
		if _, isNew, err := c.Claim(root); err != nil || !isNew {
			t.Fatalf("Claim(%s) new %v: %v", root, isNew, err)
		}
	}
	c.Ingested = ingested
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpenHome(t *testing.T) {
	user := tempDir(t)
	t.Setenv("HOME", user)
	t.Setenv("CHINVEX_HOME", "")
	here, _ := os.Getwd()
	for _, tc := range []struct{ flag, env, want string }{
		{"", "", filepath.Join(user, ".chinvex")},
		{"", "/from/env", "/from/env"},
		{"/from/flag", "/from/env", "/from/flag"},
		{"relative", "", filepath.Join(here, "relative")},
	} {
		t.Setenv("CHINVEX_HOME", tc.env)
		h, err := OpenHome(tc.flag)
		if err != nil || h.Dir != tc.want {
			t.Errorf("OpenHome(%q) with CHINVEX_HOME=%q = %q, %v; want %q", tc.flag, tc.env, h.Dir, err, tc.want)
		}
	}
	if entries, _ := os.ReadDir(user); len(entries) > 0 {
		t.Errorf("OpenHome made %v", entries)
	}
}

func TestMissingHome(t *testing.T) {
	h := Home{filepath.Join(tempDir(t), "none")}
	if contexts, errs := h.Contexts(); len(contexts)+len(errs) > 0 {
		t.Errorf("Contexts of no home = %v, %v", contexts, errs)
	}
	_, err := h.Context("x")
	if !errors.Is(err, ErrNoContext) || !strings.Contains(err.Error(), "chinvex ingest") {
		t.Errorf("Context = %v", err)
	}
	if _, err := h.Claiming(h.Dir); !errors.Is(err, ErrNoContext) {
		t.Errorf("Claiming = %v", err)
	}
	if _, err := h.Remove("x"); !errors.Is(err, ErrNoContext) {
		t.Errorf("Remove = %v", err)
	}
	if _, err := os.Stat(h.Dir); err == nil {
		t.Error("reading made the home")
	}
}

func TestNames(t *testing.T) {
	h := Home{filepath.Join(tempDir(t), "home")}
	for name, ok := range map[string]bool{
		"a": true, "my app_2.0-x": true, "プロジェクト": true, "हिन्दी": true, "-x": true, strings.Repeat("a", 100): true,
		"": false, ".": false, "..": false, ".hidden": false, "a/b": false, `a\b`: false, "a\x00": false, "a\nb": false,
		" a": false, "a ": false, "a:b": false, "\xff": false, strings.Repeat("a", 101): false, "../../etc": false,
	} {
		c, err := h.Create(name)
		if (err == nil) != ok {
			t.Errorf("Create(%q) = %v, want success %v", name, err, ok)
		}
		if err == nil && filepath.Dir(c.Dir) != h.contextsDir() {
			t.Errorf("Create(%q) made %s", name, c.Dir)
		}
		if !ok {
			if _, err := h.Context(name); !errors.Is(err, ErrNoContext) {
				t.Errorf("Context(%q) = %v", name, err)
			}
			if _, err := h.Remove(name); !errors.Is(err, ErrNoContext) {
				t.Errorf("Remove(%q) = %v", name, err)
			}
		}
	}
	for root, want := range map[string]string{
		"/src/flask": "flask", "/src/.github": "github", "/": "repository", "/src/c++": "c--", "/src/a\nb": "a-b", "/src/+++": "repository",
		"/src/...": "repository", "/src/" + strings.Repeat("é", 100): strings.Repeat("é", 45),
	} {
		if got := NameFor(root); got != want || checkName(got) != nil {
			t.Errorf("NameFor(%q) = %q, want %q", root, got, want)
		}
	}
}

func TestCreate(t *testing.T) {
	h := Home{filepath.Join(tempDir(t), "home")}
	c, err := h.Create("shop")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{
		h.Dir: 0o700, c.Dir: 0o700, c.IndexDir(): 0o700, c.LogsDir(): 0o700, c.SessionsDir(): 0o700, c.file(): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info, err, want)
		}
	}
	c.Aliases = []string{"store"}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop", "store"} {
		if _, err := h.Create(name); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Create(%q) again = %v, want fs.ErrExist", name, err)
		}
		if got, err := h.Context(name); err != nil || got.Name != "shop" {
			t.Errorf("Context(%q) = %v, %v", name, got, err)
		}
	}
	// A context's own name goes before another's alias.
	c.Aliases = []string{"store", "desk"}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(h.contextsDir(), "desk"), os.DirFS(c.Dir)); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Context("desk"); err != nil || got.Name != "desk" {
		t.Errorf("Context(desk) = %v, %v", got, err)
	}
	if _, err := h.Context("nope"); !errors.Is(err, ErrNoContext) || !strings.Contains(err.Error(), "desk, shop") {
		t.Errorf("Context(nope) = %v, want the names that exist", err)
	}
	entries, _ := os.ReadDir(h.contextsDir())
	if len(entries) != 2 {
		t.Errorf("left in contexts/: %v", entries)
	}
}

func TestBrokenContextIsReported(t *testing.T) {
	h := Home{tempDir(t)}
	root := mkdir(t, tempDir(t), "repo")
	claimed(t, h, "good", time.Time{}, root)
	for name, text := range map[string]string{
		"newer": `{"schema_version": 7}`, "cut": `{"schema_version": 1, "includes`, "empty": ``, "list": `[]`,
		"type": `{"aliases": "x"}`, "relative": `{"includes":{"repos":[{"name":"a","root":"b"}]}}`,
		"twice": `{"includes":{"repos":[{"name":"a","root":"/b"},{"name":"a","root":"/c"}]}}`,
		"time":  `{"ingested_at": "yesterday"}`,
	} {
		write(t, text, h.contextsDir(), name, "context.json")
	}
	mkdir(t, h.contextsDir(), "unreadable", "context.json") // a folder: unreadable for root too
	mkdir(t, h.contextsDir(), "bare")
	mkdir(t, h.contextsDir(), ".new-123") // an interrupted Create
	write(t, "", h.contextsDir(), "stray-file")
	contexts, errs := h.Contexts()
	if len(contexts) != 1 || contexts[0].Name != "good" || len(errs) != 10 {
		t.Errorf("Contexts = %v and %d errors: %v", contexts, len(errs), errs)
	}
	_, err := h.Context("newer")
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "schema_version 7") || !strings.Contains(err.Error(), "update chinvex") {
		t.Errorf("Context(newer) = %v", err)
	}
	if _, err := h.Context("cut"); err == nil || errors.Is(err, ErrNoContext) || !strings.Contains(err.Error(), "cut") {
		t.Errorf("Context(cut) = %v", err)
	}
	if claim, err := h.Claiming(root); err != nil || claim.Context.Name != "good" {
		t.Errorf("a broken context hides a good one: %v, %v", claim, err)
	}
	if _, err := h.Remove("cut"); err != nil {
		t.Errorf("a broken context cannot be removed: %v", err)
	}
}

func TestRemove(t *testing.T) {
	h := Home{tempDir(t)}
	outside := mkdir(t, tempDir(t), "repo")
	kept := write(t, "mine", outside, "code.go")
	c := claimed(t, h, "a", time.Time{}, outside)
	b := claimed(t, h, "b", time.Time{}, outside)
	b.Aliases = []string{"bee"}
	if err := b.Save(); err != nil {
		t.Fatal(err)
	}
	data := write(t, strings.Repeat("x", 1000), c.IndexDir(), "1", "seg")
	mkdir(t, c.IndexDir(), "2")
	if err := os.Link(data, filepath.Join(c.IndexDir(), "2", "seg")); err != nil {
		t.Fatal(err)
	}
	symlink(t, outside, c.IndexDir(), "link")
	json, _ := os.Stat(c.file())
	freed, err := h.Remove("a")
	if want := 1000 + json.Size(); err != nil || freed != want {
		t.Errorf("Remove = %d, %v; want %d bytes, a hard link counted once", freed, err, want)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("Remove went through a symbolic link: %v", err)
	}
	entries, _ := os.ReadDir(h.contextsDir())
	if len(entries) != 1 || entries[0].Name() != "b" {
		t.Errorf("left in contexts/: %v", entries)
	}
	if _, err := h.Remove("a"); !errors.Is(err, ErrNoContext) {
		t.Errorf("second Remove = %v", err)
	}
	if _, err := h.Remove("bee"); !errors.Is(err, ErrNoContext) {
		t.Errorf("Remove by alias = %v", err)
	}
	// What an interrupted removal left is removed by the next one.
	write(t, "12345", h.contextsDir(), ".removed-a", "seg")
	if freed, err := h.Remove("a"); err != nil || freed != 5 {
		t.Errorf("resumed Remove = %d, %v", freed, err)
	}
	symlink(t, outside, h.contextsDir(), "sym")
	if _, err := h.Remove("sym"); err == nil {
		t.Error("Remove of a symbolic link succeeded")
	}
}

func TestClaiming(t *testing.T) {
	h := Home{tempDir(t)}
	src := tempDir(t)
	outer, inner := mkdir(t, src, "outer"), mkdir(t, src, "outer", "pkg", "inner")
	both, other := mkdir(t, src, "both"), mkdir(t, src, "outer-other")
	early, late := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	claimed(t, h, "whole", late, outer)
	claimed(t, h, "part", early, inner)
	claimed(t, h, "a-old", early, both)
	claimed(t, h, "m-new", late, both)
	claimed(t, h, "z-never", time.Time{}, both)
	link := symlink(t, outer, src, "link")
	for _, tc := range []struct{ dir, context, repo, also string }{
		{outer, "whole", "outer", ""},
		{filepath.Join(outer, "pkg"), "whole", "outer", ""},
		{inner, "part", "inner", ""}, // the deepest root, though ingested earlier
		{filepath.Join(inner, "not", "yet.go"), "part", "inner", ""},
		{filepath.Join(link, "pkg", "inner"), "part", "inner", ""},
		{link, "whole", "outer", ""},
		{both, "m-new", "both", "a-old z-never"},
		{other, "", "", ""},
		{src, "", "", ""},
	} {
		claim, err := h.Claiming(tc.dir)
		if tc.context == "" {
			if !errors.Is(err, ErrNoContext) {
				t.Errorf("Claiming(%s) = %v, %v; want ErrNoContext", tc.dir, claim, err)
			}
			continue
		}
		if err != nil || claim.Context.Name != tc.context || claim.Repository.Name != tc.repo || strings.Join(claim.Also, " ") != tc.also {
			t.Errorf("Claiming(%s) = %+v, %v; want %+v", tc.dir, claim, err, tc)
		}
	}
	t.Chdir(inner)
	if claim, err := h.Claiming("."); err != nil || claim.Context.Name != "part" {
		t.Errorf("Claiming(.) = %+v, %v", claim, err)
	}
}

func TestClaimingLinkedWorkTree(t *testing.T) {
	h := Home{tempDir(t)}
	src := tempDir(t)
	main := gitRepository(t, filepath.Join(src, "main"))
	beside, within := filepath.Join(src, "beside"), filepath.Join(main, ".trees", "within")
	git(t, main, "worktree", "add", "-q", beside)
	git(t, main, "worktree", "add", "-q", within)
	claimed(t, h, "all", time.Time{}, main)
	for _, tc := range []struct {
		dir, root string
		linked    bool
	}{
		{main, main, false},
		{filepath.Join(main, "sub"), main, false},
		{beside, beside, true},
		{filepath.Join(beside, "sub", "file.txt"), beside, true},
		{filepath.Join(within, "sub"), within, true}, // inside the main checkout, yet files of its own
	} {
		claim, err := h.Claiming(tc.dir)
		if want := (Repository{"main", tc.root, tc.linked}); err != nil || claim.Repository != want || claim.Also != nil {
			t.Errorf("Claiming(%s) = %+v, %v; want %+v", tc.dir, claim, err, want)
		}
	}
	claim, err := h.Claiming(beside)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := claim.Repository.PathOf(filepath.Join(beside, "sub", "file.txt")); !ok || p != (Path{"main", "sub/file.txt"}) {
		t.Errorf("PathOf in a linked work tree = %v, %v", p, ok)
	}

	// A claimed folder of the main checkout has its twin in the linked tree, and a
	// linked tree that is claimed itself goes before its main checkout.
	claimed(t, h, "sub", time.Time{}, filepath.Join(main, "sub"))
	claim, err = h.Claiming(filepath.Join(beside, "sub"))
	if want := (Repository{"sub", filepath.Join(beside, "sub"), true}); err != nil || claim.Repository != want {
		t.Errorf("twin of a claimed folder = %+v, %v; want %+v", claim, err, want)
	}
	claimed(t, h, "zz", time.Time{}, beside)
	claim, err = h.Claiming(beside)
	if want := (Repository{"beside", beside, false}); err != nil || claim.Repository != want || claim.Context.Name != "zz" {
		t.Errorf("claimed linked tree = %+v, %v; want %+v", claim, err, want)
	}
}
