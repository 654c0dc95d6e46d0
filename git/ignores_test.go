package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestIgnores(t *testing.T) {
	root := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{".gitignore": "*.log\n", "a.log": "", "b.go": "", "odd *[name].go": ""} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a.log": true, "b.go": false, "odd *[name].go": false} {
		if got, err := r.Ignores(context.Background(), filepath.Join(r.Root, name)); err != nil || got != want {
			t.Errorf("Ignores(%q) = %v, %v", name, got, err)
		}
	}
}
