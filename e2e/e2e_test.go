package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// The versions of the client. The older one is from before 2.1.101, which was the first
// to survive an unknown event in a settings file.
const (
	current = "2.1.329"
	older   = "2.1.100"
)

func TestMain(m *testing.M) {
	Enter()
	code := m.Run()
	os.RemoveAll(programsDir) // "" is nothing
	os.Exit(code)
}

var programsDir string // set by programs

// programs builds chinvex, chinvex-hook and chinvex-mcp into one folder.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "e2e-bin-")
	if err != nil {
		return "", err
	}
	programsDir = dir
	for program, pkg := range map[string]string{"chinvex": "chinvex", "chinvex-hook": "hook", "chinvex-mcp": "mcp"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, program), "../cmd/"+pkg).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build ../cmd/%s: %w\n%s", pkg, err, out)
		}
	}
	return dir, nil
})

var (
	clientsMu sync.Mutex
	clients   = map[string]func() (string, error){}
)

// client returns the program of a version of the client, or skips the test.
func client(t testing.TB, version string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the real client is not started")
	}
	clientsMu.Lock()
	if clients[version] == nil {
		clients[version] = sync.OnceValues(func() (string, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			return Install(ctx, version)
		})
	}
	install := clients[version]
	clientsMu.Unlock()
	program, err := install()
	if errors.Is(err, ErrNoClient) {
		t.Skipf("Claude Code %s: %v", version, err)
	}
	must(t, err)
	return program
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a repository and the home of a user who works in it. Its folders do not hold
// our name: a request that does speaks of us.
type place struct {
	t          testing.TB
	repo, home string
	path       string // PATH, with our programs first
	sessions   int
}

// newPlace makes the fixture's repository.
func newPlace(t testing.TB) *place {
	p := emptyPlace(t)
	archive, err := txtar.ParseFile("testdata/shop.txtar")
	must(t, err)
	must(t, os.Mkdir(p.repo, 0o755))
	p.git(0, "init", "-q", "-b", "main")
	day := 0
	for _, f := range archive.Files {
		if subject, ok := strings.CutPrefix(f.Name, "commit "); ok {
			day++
			p.git(day, "add", "-A")
			p.git(day, "commit", "-q", "-m", subject)
			continue
		}
		p.write(f.Name, string(f.Data))
	}
	return p
}

// emptyPlace is a place whose repository is still to be made.
func emptyPlace(t testing.TB) *place {
	t.Helper()
	bin, err := programs()
	must(t, err)
	dir := tempDir(t)
	p := &place{t: t, repo: filepath.Join(dir, "shop"), home: filepath.Join(dir, "home"), path: bin + string(os.PathListSeparator) + pathWithoutUs()}
	must(t, os.Mkdir(p.home, 0o755))
	return p
}

// pathWithoutUs is PATH without the folders that hold programs of ours.
func pathWithoutUs() string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		ours, _ := filepath.Glob(filepath.Join(dir, "chinvex*"))
		return len(ours) > 0
	}), string(os.PathListSeparator))
}

// tempDir is t.TempDir for sessions that leave a refresh running: it removes the folder
// again until nothing writes there any more. When the test has failed it stays.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e-")
	must(t, err)
	dir, err = filepath.EvalSymlinks(dir)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what was there is in %s", dir)
			return
		}
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if os.RemoveAll(dir) == nil {
				return
			}
		}
		t.Errorf("%s cannot be removed", dir)
	})
	return dir
}

// environment is what programs beside the client run with.
func (p *place) environment() []string {
	return []string{"PATH=" + p.path, "HOME=" + p.home, "GIT_CONFIG_NOSYSTEM=1", "LANG=C.UTF-8"}
}

// git runs git in the repository on a day of January 2026.
func (p *place) git(day int, args ...string) {
	p.t.Helper()
	date := time.Date(2026, 1, 1+day, 12, 0, 0, 0, time.UTC).Format(time.RFC3339)
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
	cmd.Dir = p.repo
	cmd.Env = append(p.environment(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// chinvex runs our command line in the repository and returns what it prints.
func (p *place) chinvex(args ...string) string {
	p.t.Helper()
	out, err := p.tryChinvex(args...)
	if err != nil {
		p.t.Fatalf("chinvex %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (p *place) tryChinvex(args ...string) (string, error) {
	bin, err := programs()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(filepath.Join(bin, "chinvex"), args...)
	cmd.Dir, cmd.Env = p.repo, p.environment()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// file is the absolute path of a file of the repository.
func (p *place) file(rel string) string { return filepath.Join(p.repo, filepath.FromSlash(rel)) }

func (p *place) write(rel, text string) {
	p.t.Helper()
	must(p.t, os.MkdirAll(filepath.Dir(p.file(rel)), 0o755))
	must(p.t, os.WriteFile(p.file(rel), []byte(text), 0o644))
}

// read returns a file of the repository, "" when there is none.
func (p *place) read(rel string) string {
	p.t.Helper()
	data, err := os.ReadFile(p.file(rel))
	if !errors.Is(err, fs.ErrNotExist) {
		must(p.t, err)
	}
	return string(data)
}

// run runs a session against the model, in which everything is allowed, and returns its
// result. It fails the test when the client does not end well.
func (p *place) run(program string, m *Model, with func(*Session)) *Result {
	p.t.Helper()
	p.sessions++
	s := &Session{
		Program: program, Dir: p.repo, Home: p.home, Path: p.path, Model: m, Prompt: "Please go on.",
		Logs:  filepath.Join(filepath.Dir(p.repo), fmt.Sprintf("session-%d", p.sessions)),
		Allow: []string{"Bash", "Read", "Edit", "Write", "Agent", "Task", "mcp__chinvex", "mcp__plugin_chinvex_chinvex"},
	}
	if with != nil {
		with(s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := s.Run(ctx)
	p.keep(s.Logs, m)
	must(p.t, err)
	if r.Exit != 0 {
		p.t.Fatalf("the client ended with %d: %s", r.Exit, r.Stderr)
	}
	if !r.Isolated {
		p.t.Log("no network namespace here: only ANTHROPIC_BASE_URL keeps the client on loopback")
	}
	return r
}

// keep writes the requests, as they came, beside the session's other logs.
func (p *place) keep(logs string, m *Model) {
	p.t.Helper()
	for _, r := range m.Requests() {
		name := fmt.Sprintf("%03d-%s-%d.json", r.N, r.Kind, r.Turn)
		must(p.t, os.WriteFile(filepath.Join(logs, name), r.Body, 0o600))
	}
}
