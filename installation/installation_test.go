package installation

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/project"
)

// world is a state directory and a folder with real work trees.
type world struct {
	*testing.T
	dir  string
	home project.Home
}

func newWorld(t *testing.T) *world {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	t.Setenv("CLAUDE_CONFIG_DIR", t.TempDir())
	dir, err := filepath.EvalSymlinks(t.TempDir())
	w := &world{t, dir, project.Home{Dir: filepath.Join(dir, "state")}}
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) git(dir string, args ...string) string {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = w.path(dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// tree makes a work tree with one commit.
func (w *world) tree(name string) {
	w.Helper()
	w.write(name+"/a.go", "package a\n")
	w.git(name, "init", "-q", "-b", "main")
	w.git(name, "add", "-A")
	w.git(name, "commit", "-q", "-m", "one")
}

func (w *world) write(name, text string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	w.must(os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w *world) read(name string) string {
	if info, err := os.Stat(w.path(name)); err == nil && !info.Mode().IsRegular() {
		return "(" + info.Mode().Type().String() + ")"
	}
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		return "(" + err.(*fs.PathError).Err.Error() + ")"
	}
	return string(data)
}

// context makes or finds a context that claims folders.
func (w *world) context(name string, dirs ...string) Options {
	w.Helper()
	c, err := w.home.Context(name)
	if err != nil {
		c, err = w.home.Create(name)
		w.must(err)
	}
	for _, dir := range dirs {
		_, _, err := c.Claim(w.path(dir))
		w.must(err)
	}
	w.must(c.Save())
	return Options{State: w.home, Context: c}
}

// say writes results as "action file (reason)", files relative to the world.
func (w *world) say(results []Result) string {
	var lines []string
	for _, r := range results {
		line := string(r.Action) + " " + strings.TrimPrefix(r.File, w.dir+"/")
		if r.Reason != "" {
			line += " (" + r.Reason + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (w *world) install(o Options, want string) []Result {
	w.Helper()
	r := Install(context.Background(), o)
	w.same("install", want, w.say(r))
	return r
}

func (w *world) uninstall(o Options, want string) {
	w.Helper()
	w.same("uninstall", want, w.say(Uninstall(context.Background(), o)))
}

func (w *world) same(what, want, got string) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// files lists what lies below a folder, without .git.
func (w *world) files(dir string) string {
	var names []string
	_ = filepath.WalkDir(w.path(dir), func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if e.Name() == ".git" {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if name != w.path(dir) {
			names = append(names, strings.TrimPrefix(name, w.path(dir)+"/"))
		}
		return nil
	})
	sort.Strings(names)
	return strings.Join(names, " ")
}

func TestInstallAndUninstall(t *testing.T) {
	w := newWorld(t)
	w.tree("shop")
	o := w.context("shop", "shop")
	w.install(o, "installed shop/.claude/settings.json")
	text := w.read("shop/.claude/settings.json")
	for _, want := range []string{`"SessionStart"`, `chinvex brief --context 'shop' 2>/dev/null || true`, `chinvex-hook 2>/dev/null || true`, `"PostToolUseFailure"`, `"SessionEnd"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the settings lack %s:\n%s", want, text)
		}
	}
	before, err := os.Stat(w.path("shop/.claude/settings.json"))
	w.must(err)
	w.install(o, "unchanged shop/.claude/settings.json")
	after, err := os.Stat(w.path("shop/.claude/settings.json"))
	w.must(err)
	if !os.SameFile(before, after) {
		t.Error("a second install wrote the file anew")
	}
	w.uninstall(o, "deleted shop/.claude/settings.json")
	w.same("what is left", "a.go", w.files("shop"))
	w.same("records", "", w.files("state/contexts/shop/installed"))
	w.uninstall(o, "")
}

// The bytes of a file that nobody has touched since come back, with its mode.
func TestRestore(t *testing.T) {
	w := newWorld(t)
	w.tree("shop")
	const text = "{\r\n\t\"env\" : {\"A\":1.0e+2}  ,\r\n\"hooks\":{\"PostToolUse\":[]}}"
	w.write("shop/.claude/settings.json", text)
	w.must(os.Chmod(w.path("shop/.claude/settings.json"), 0o664))
	o := w.context("shop", "shop")
	w.install(o, "installed shop/.claude/settings.json")
	o.Choice.StartupOnly = true
	w.install(o, "updated shop/.claude/settings.json")
	if strings.Contains(w.read("shop/.claude/settings.json"), "chinvex-hook") {
		t.Error("the handler is still there")
	}
	w.uninstall(o, "restored shop/.claude/settings.json")
	w.same("bytes", text, w.read("shop/.claude/settings.json"))
	info, err := os.Stat(w.path("shop/.claude/settings.json"))
	w.must(err)
	if info.Mode().Perm() != 0o664 {
		t.Errorf("mode %v", info.Mode())
	}
}

// What somebody else writes between two of our changes stands.
func TestOthersEdits(t *testing.T) {
	w := newWorld(t)
	w.tree("shop")
	o := w.context("shop", "shop")
	w.install(o, "installed shop/.claude/settings.json")
	file := "shop/.claude/settings.json"
	edited := strings.Replace(w.read(file), "{", "{\n  \"model\": \"opus\",", 1)
	w.write(file, edited)
	o.Home = "/srv/state"
	w.install(o, "updated "+file)
	w.uninstall(o, "restored "+file)
	if text := w.read(file); !strings.Contains(text, `"model": "opus"`) || strings.Contains(text, "chinvex") {
		t.Errorf("left %s", text)
	}
	// And between our last change and the end.
	w.install(o, "installed "+file)
	w.write(file, strings.Replace(w.read(file), `"opus"`, `"sonnet"`, 1))
	w.uninstall(o, "removed "+file)
	if text := w.read(file); !strings.Contains(text, `"model": "sonnet"`) || strings.Contains(text, "chinvex") {
		t.Errorf("left %s", text)
	}
}

// A record that does not fit, and none at all, cost nothing but the exact bytes.
func TestWithoutRecord(t *testing.T) {
	w := newWorld(t)
	w.tree("shop")
	o := w.context("shop", "shop")
	for name, spoil := range map[string]func(dir string) error{
		"none":       os.RemoveAll,
		"damaged":    func(dir string) error { return os.WriteFile(filepath.Join(dir, recordName), []byte("{"), 0o600) },
		"no context": nil,
	} {
		w.install(o, "installed shop/.claude/settings.json")
		if spoil != nil {
			w.must(spoil(o.recordDir(w.path("shop/.claude/settings.json"))))
			w.uninstall(o, "deleted shop/.claude/settings.json")
		} else {
			w.uninstall(Options{State: w.home, Repos: []project.Repository{{Name: "shop", Root: w.path("shop")}}, All: true}, "deleted shop/.claude/settings.json")
		}
		if strings.Contains(w.files("shop"), "settings") {
			t.Errorf("%s: %s", name, w.files("shop"))
		}
		w.must(os.RemoveAll(w.path("shop/.claude")))
	}
}

func TestLeftAlone(t *testing.T) {
	w := newWorld(t)
	const malformed = "{\"hooks\": "
	for _, test := range []struct {
		name, reason string
		make         func(tree string) error
	}{
		{"malformed", "", func(tree string) error {
			w.write(tree+"/.claude/settings.json", malformed)
			return nil
		}},
		{"list", "", func(tree string) error {
			w.write(tree+"/.claude/settings.json", `{"hooks": []}`)
			return nil
		}},
		{"read-only", "it is read-only; make it writable for chinvex to add its entries", func(tree string) error {
			w.write(tree+"/.claude/settings.json", "{}")
			return os.Chmod(w.path(tree+"/.claude/settings.json"), 0o444)
		}},
		{"link out", "it leads out of the repository through a symbolic link; make it a file of the repository", func(tree string) error {
			w.write("outside.json", "{}")
			w.must(os.MkdirAll(w.path(tree+"/.claude"), 0o755))
			return os.Symlink(w.path("outside.json"), w.path(tree+"/.claude/settings.json"))
		}},
		{"folder links out", "it leads out of the repository through a symbolic link; make it a file of the repository", func(tree string) error {
			w.must(os.MkdirAll(w.path("elsewhere"), 0o755))
			return os.Symlink(w.path("elsewhere"), w.path(tree+"/.claude"))
		}},
		{"folder", "", func(tree string) error { return os.MkdirAll(w.path(tree+"/.claude/settings.json"), 0o755) }},
		{"pipe", "", func(tree string) error {
			w.must(os.MkdirAll(w.path(tree+"/.claude"), 0o755))
			return syscall.Mkfifo(w.path(tree+"/.claude/settings.json"), 0o644)
		}},
		{"file for a folder", "", func(tree string) error {
			w.write(tree+"/.claude", "x")
			return nil
		}},
		{"huge", "", func(tree string) error {
			w.write(tree+"/.claude/settings.json", `{"a":"`+strings.Repeat("x", maxSettings)+`"}`)
			return nil
		}},
	} {
		w.tree(test.name)
		w.must(test.make(test.name))
		before := w.read(test.name + "/.claude/settings.json")
		o := w.context(test.name, test.name)
		r := Install(context.Background(), o)
		if len(r) != 1 || r[0].Action != Skipped || r[0].Reason == "" || test.reason != "" && r[0].Reason != test.reason {
			t.Errorf("%s: %+v", test.name, r)
		}
		t.Logf("%s: %s", test.name, w.say(r))
		w.same(test.name, before, w.read(test.name+"/.claude/settings.json"))
		w.uninstall(o, "")
	}
	w.same("outside", "{}", w.read("outside.json"))
	w.same("elsewhere", "", w.files("elsewhere"))
	w.must(os.MkdirAll(w.path("plain"), 0o755))
	w.must(os.MkdirAll(w.path("gone"), 0o755))
	o := w.context("plain", "plain", "gone")
	w.must(os.Remove(w.path("gone")))
	w.install(o, "no tree plain (it is not a git work tree, and hooks go into git work trees only)\nno tree gone (it is not there)")
	w.uninstall(o, "")
}

// A link that stays inside the repository stays a link.
func TestLinkInside(t *testing.T) {
	w := newWorld(t)
	w.tree("shop")
	w.write("shop/config/claude.json", "{}\n")
	w.must(os.MkdirAll(w.path("shop/.claude"), 0o755))
	w.must(os.Symlink("../config/claude.json", w.path("shop/.claude/settings.json")))
	o := w.context("shop", "shop")
	w.install(o, "installed shop/.claude/settings.json")
	if !strings.Contains(w.read("shop/config/claude.json"), "chinvex-hook") {
		t.Error("the link's target has no hooks")
	}
	w.uninstall(o, "restored shop/.claude/settings.json")
	w.same("target", "{}\n", w.read("shop/config/claude.json"))
	if info, err := os.Lstat(w.path("shop/.claude/settings.json")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
}

// settings.local.json lies in the main checkout, where the client finds it from linked
// work trees, and git leaves it out.
func TestLocal(t *testing.T) {
	w := newWorld(t)
	w.tree("shop")
	exclude := w.read("shop/.git/info/exclude")
	w.git("shop", "worktree", "add", "-q", "../linked")
	o := w.context("shop", "linked", "shop")
	o.Choice = project.Hooks{Place: project.HooksLocal, MCP: true}
	w.install(o, "installed shop/.claude/settings.local.json\ninstalled linked/.mcp.json\ninstalled shop/.mcp.json")
	w.same("status", "?? .mcp.json\n", w.git("shop", "status", "--porcelain"))
	// Another choice moves them.
	o.Choice = project.Hooks{}
	w.install(o, "installed linked/.claude/settings.json\ndeleted shop/.claude/settings.local.json\ndeleted linked/.mcp.json\ninstalled shop/.claude/settings.json\ndeleted shop/.mcp.json")
	w.uninstall(o, "deleted linked/.claude/settings.json\ndeleted shop/.claude/settings.json")
	w.same("left in the main checkout", "a.go", w.files("shop"))
	w.same("left in the linked tree", "a.go", w.files("linked"))
	w.same("exclude", exclude, w.read("shop/.git/info/exclude"))
	o.Choice.Place = project.HooksNone
	w.install(o, "")
}

func TestTwoContexts(t *testing.T) {
	w := newWorld(t)
	w.tree("mono")
	w.write("mono/api/x.go", "package x\n")
	a := w.context("a", "mono")
	b := w.context("b", "mono/api")
	w.install(a, "installed mono/.claude/settings.json")
	// The start-up hook of a context that claims the tree too stays.
	w.install(b, "unchanged mono/.claude/settings.json")
	w.uninstall(b, "skipped mono/.claude/settings.json (context a has its hooks there)")
	// One that is gone is replaced.
	_, err := w.home.Remove("a")
	w.must(err)
	w.install(b, "updated mono/.claude/settings.json")
	if text := w.read("mono/.claude/settings.json"); strings.Contains(text, "'a'") || !strings.Contains(text, "'b'") {
		t.Error(text)
	}
	w.context("a", "mono")
	b.All = true
	w.uninstall(b, "deleted mono/.claude/settings.json")
	// Two claims in one work tree have one file.
	both := w.context("both", "mono", "mono/api")
	w.install(both, "installed mono/.claude/settings.json")
}

func TestDryRun(t *testing.T) {
	w := newWorld(t)
	w.tree("shop")
	o := w.context("shop", "shop")
	o.DryRun = true
	w.install(o, "installed shop/.claude/settings.json")
	w.same("files", "a.go", w.files("shop"))
	o.DryRun = false
	w.install(o, "installed shop/.claude/settings.json")
	o.DryRun = true
	w.uninstall(o, "deleted shop/.claude/settings.json")
	o.DryRun = false
	w.install(o, "unchanged shop/.claude/settings.json")
	w.uninstall(o, "deleted shop/.claude/settings.json")
}

// A crash between the record and the file leaves the file as it was.
func TestCrash(t *testing.T) {
	w := newWorld(t)
	w.tree("shop")
	w.write("shop/.claude/settings.json", "{\"a\": 1}\n")
	o := w.context("shop", "shop")
	w.must(o.keep(&record{File: w.path("shop/.claude/settings.json"), Existed: true, Written: hash([]byte("never written"))}, []byte("{\"a\": 0}\n")))
	w.install(o, "installed shop/.claude/settings.json")
	w.uninstall(o, "restored shop/.claude/settings.json")
	w.same("bytes", "{\"a\": 1}\n", w.read("shop/.claude/settings.json"))
}

func TestHasStartupHook(t *testing.T) {
	w := newWorld(t)
	w.tree("shop")
	w.write("shop/sub/b.go", "package b\n")
	o := w.context("shop", "shop")
	if HasStartupHook(w.path("shop")) {
		t.Error("before the install")
	}
	w.install(o, "installed shop/.claude/settings.json")
	if !HasStartupHook(w.path("shop")) || HasStartupHook(w.path("shop/sub")) {
		t.Error("settings.json counts where the client is started, only there")
	}
	o.Choice.Place = project.HooksLocal
	w.install(o, "deleted shop/.claude/settings.json\ninstalled shop/.claude/settings.local.json")
	if !HasStartupHook(w.path("shop/sub")) {
		t.Error("settings.local.json counts in sub-directories")
	}
	if PluginEnabled() {
		t.Error("no plugin is enabled")
	}
	w.must(os.WriteFile(filepath.Join(userDir(), "settings.json"), []byte(`{"enabledPlugins":{"chinvex@market":true}}`), 0o644))
	if !PluginEnabled() {
		t.Error("the plugin is enabled")
	}
}
