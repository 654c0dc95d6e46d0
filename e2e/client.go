package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrNoClient means that the client cannot be had on this machine.
var ErrNoClient = errors.New("no client")

// Install returns the client's program, of one version of the npm package. The first call
// for a version gets it with the npm on PATH, as that is configured here, and keeps it in
// the user's cache directory. The error is ErrNoClient where npm is missing or fails.
func Install(ctx context.Context, version string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoClient, err)
	}
	dir := filepath.Join(cache, "chinvex-e2e", version)
	program := filepath.Join(dir, "node_modules", ".bin", "claude")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%w: npm is not on PATH", ErrNoClient)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoClient, err)
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("%w: another run installs it and does not end: %w", ErrNoClient, err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil // the other run got it
	}
	aside := dir + ".new"
	if err := os.RemoveAll(aside); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoClient, err)
	}
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", aside, "--no-audit", "--no-fund", "--fetch-retries=1", "@anthropic-ai/claude-code@"+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: npm install of version %s: %w: %s", ErrNoClient, version, err, lastLine(out))
	}
	if err := os.Rename(aside, dir); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoClient, err)
	}
	return program, nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// Session is one run of the client, with one prompt and nobody to ask. The client gets an
// environment made from these fields alone and a key that is none.
type Session struct {
	Program string // from Install
	Dir     string // the project
	Home    string // HOME, with the client's own files in Home/.claude
	Logs    string // folder for what the client writes: stdout, stderr and debug
	Path    string // PATH
	Prompt  string
	Resume  string   // id of an earlier session in the same Home, "" to begin one
	Allow   []string // tools and MCP servers that need no permission
	Args    []string // more arguments
	Command []string // of the client, such as plugin validate, instead of a session
	Model   *Model
}

// Result is how a session ended.
type Result struct {
	ID       string // of the session
	Exit     int
	Stdout   string
	Stderr   string
	Wall     time.Duration
	Isolated bool // nothing but loopback could be reached
}

// Run runs the session to its end. It is killed when ctx is done.
func (s *Session) Run(ctx context.Context) (*Result, error) {
	tmp := filepath.Join(s.Home, "tmp")
	for _, dir := range []string{s.Logs, tmp, filepath.Join(s.Home, ".claude")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	args := []string{"-p", s.Prompt, "--output-format", "json", "--debug-file", filepath.Join(s.Logs, "debug"), "--allowedTools", strings.Join(s.Allow, ",")}
	if s.Resume != "" {
		args = append(args, "--resume", s.Resume)
	}
	if s.Command != nil {
		args = s.Command
	}
	cmd := exec.CommandContext(ctx, s.Program, append(args, s.Args...)...)
	cmd.Dir = s.Dir
	cmd.WaitDelay = 2 * time.Second // a child may hold the pipes
	cmd.Env = []string{
		"PATH=" + s.Path, "HOME=" + s.Home, "CLAUDE_CONFIG_DIR=" + filepath.Join(s.Home, ".claude"),
		"TMPDIR=" + tmp, "CLAUDE_CODE_TMPDIR=" + tmp, "LANG=C.UTF-8", "TERM=dumb",
		"ANTHROPIC_API_KEY=dummy-test-key",
		"IS_SANDBOX=1", // or the client refuses to work as root
		"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr

	began := time.Now()
	l, isolated, err := startAlone(cmd)
	if err == nil && !isolated {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL=http://"+l.Addr().String())
			err = cmd.Start()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("e2e: the client does not start: %w", err)
	}
	server := &http.Server{Handler: s.Model}
	go server.Serve(l)
	defer server.Close()
	err = cmd.Wait()
	r := &Result{Exit: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String(), Wall: time.Since(began), Isolated: isolated}
	for name, text := range map[string]*bytes.Buffer{"stdout": &stdout, "stderr": &stderr} {
		if err := os.WriteFile(filepath.Join(s.Logs, name), text.Bytes(), 0o600); err != nil {
			return r, err
		}
	}
	if ctx.Err() != nil {
		return r, fmt.Errorf("e2e: the client was still running after %v: %w", r.Wall.Round(time.Second), ctx.Err())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return r, err
	}
	var printed struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &printed); err != nil && r.Exit == 0 && s.Command == nil {
		return r, fmt.Errorf("e2e: the client printed no JSON: %w", err)
	}
	r.ID = printed.ID
	return r, nil
}
