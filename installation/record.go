package installation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/project"
)

// record is what is known about a file that was changed.
type record struct {
	File        string `json:"file"`                   // absolute, links not resolved
	Existed     bool   `json:"existed"`                // before: then its bytes are beside the record
	Written     string `json:"written"`                // SHA-256 of the bytes that were written, hexadecimal
	Exclude     string `json:"exclude,omitempty"`      // git's exclude file that got a line, absolute
	ExcludeMade bool   `json:"exclude_made,omitempty"` // there was no such file before
}

const (
	recordName   = "record.json"
	originalName = "original"
)

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (o *Options) recordDir(file string) string {
	return filepath.Join(o.Context.InstalledDir(), hash([]byte(file))[:16])
}

// record reads what is known of a file, nil when nothing is. One that cannot be read is
// as good as none: then our entries alone are taken out.
func (o *Options) record(t target) (*record, []byte) {
	if o.Context == nil {
		return nil, nil
	}
	file := filepath.Join(t.root, t.name)
	dir := o.recordDir(file)
	data, err := os.ReadFile(filepath.Join(dir, recordName))
	rec := &record{}
	if err != nil || json.Unmarshal(data, rec) != nil || rec.File != file {
		return nil, nil
	}
	original, err := os.ReadFile(filepath.Join(dir, originalName))
	if err != nil && rec.Existed {
		return nil, nil
	}
	return rec, original
}

// keep writes the record and the original bytes.
func (o *Options) keep(rec *record, original []byte) error {
	dir := o.recordDir(rec.File)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if rec.Existed {
		if err := project.WriteFileAtomic(filepath.Join(dir, originalName), original, 0o600); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return project.WriteFileAtomic(filepath.Join(dir, recordName), append(data, '\n'), 0o600)
}

// exclude has git leave a local file out unless it does so already. The line goes into
// the clone's own exclude file, which is never committed.
func exclude(ctx context.Context, t target, rec *record) error {
	if rec.Exclude != "" {
		return nil
	}
	repo, err := git.Open(ctx, t.root)
	if err != nil {
		return err
	}
	if left, err := repo.Ignores(ctx, t.name); err != nil || left {
		return err
	}
	name := repo.ExcludeFile()
	old, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		rec.ExcludeMade = true
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err != nil {
		return err
	}
	text := string(old)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	rec.Exclude = name
	return project.WriteFileAtomic(name, []byte(text+excludeLine), 0o644)
}

const excludeLine = "/" + localName + "\n"

// include takes the line out of git's exclude file again.
func include(rec *record) error {
	if rec.Exclude == "" {
		return nil
	}
	data, err := os.ReadFile(rec.Exclude)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	before, after, found := strings.Cut(string(data), excludeLine)
	if !found || before != "" && !strings.HasSuffix(before, "\n") {
		return nil
	}
	if rec.ExcludeMade && before+after == "" {
		return os.Remove(rec.Exclude)
	}
	return project.WriteFileAtomic(rec.Exclude, []byte(before+after), 0o644)
}
