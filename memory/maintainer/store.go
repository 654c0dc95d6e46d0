package maintainer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"github.com/chinvex/chinvex/memory"
	"github.com/chinvex/chinvex/project"
)

// journal is what the git directory keeps; see the package comment.
type journal struct {
	Pending []pending `json:"pending,omitempty"`
	State   string    `json:"state,omitempty"`
	Planned *planned  `json:"planned,omitempty"`
}

// pending is a file on its way.
type pending struct {
	Path   string      `json:"path"`
	Before string      `json:"before"`
	After  []byte      `json:"after"`
	Mode   fs.FileMode `json:"mode"`
}

// planned is what Plan saw.
type planned struct {
	Anchor string `json:"anchor"`
	Head   string `json:"head"`
	Limits Limits `json:"limits"`
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// folder is ours in the git directory.
const folder = "chinvex"

// stored names a file of ours in the git directory.
func (r *run) stored(extension string) string {
	name := "memory"
	if r.prefix != "" {
		name += "-" + digest([]byte(r.prefix))[:8]
	}
	return filepath.Join(r.repo.GitDir, folder, name+extension)
}

// lock keeps other processes out, and reads the journal.
func (r *run) lock(ctx context.Context) error {
	path := r.stored(".lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot write into the git directory: %w; make it writable", err)
	}
	wait := r.Wait
	if wait == 0 {
		wait = 5 * time.Second
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	l := flock.New(path, flock.SetPermissions(0o600))
	locked, err := l.TryLockContext(waiting, 20*time.Millisecond)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return ErrLocked
	case err != nil || !locked:
		return fmt.Errorf("cannot lock %s: %w; make it writable", path, err)
	}
	r.unlock = func() { l.Close() }
	return nil
}

func (r *run) save() error {
	data, err := json.Marshal(r.journal)
	if err == nil {
		err = project.WriteFileAtomic(r.stored(".json"), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write into the git directory: %w; make it writable", err)
	}
	return nil
}

// now returns a file's bytes and mode; nil for none.
func (r *run) now(path string) ([]byte, fs.FileMode, error) {
	data, err := project.ReadRegular(r.abs(path), memory.MaxFileSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o644, nil
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := os.Stat(r.abs(path))
	if err != nil {
		return nil, 0, err
	}
	return append([]byte{}, data...), info.Mode().Perm(), nil
}

func digestOf(data []byte) string {
	if data == nil {
		return ""
	}
	return digest(data)
}

// leftover is the name of a file that was to be renamed when a crash came.
var leftover = regexp.MustCompile(`^\.(?:STATE|CONSTRAINTS|DECISIONS)\.md\.[0-9]+$`)

// recover reads the journal and finishes what is pending in it, unless a person has
// edited one of the files since: then what was not written is given up.
func (r *run) recover() error {
	data, err := os.ReadFile(r.stored(".json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the git directory: %w", err)
	}
	if err := json.Unmarshal(data, &r.journal); err != nil {
		r.journal = journal{} // it is written in one step, so this is not ours
	}
	if len(r.journal.Pending) == 0 {
		return nil
	}
	var left []pending
	edited := ""
	for _, p := range r.journal.Pending {
		if !slices.Contains(r.paths[:], p.Path) {
			edited = p.Path // it was moved behind a link, or out of one
			break
		}
		data, _, err := r.now(p.Path)
		if err != nil {
			return fmt.Errorf("an update of the memory files was interrupted and cannot be finished: %w", err)
		}
		switch digestOf(data) {
		case digest(p.After):
		case p.Before:
			left = append(left, p)
		default:
			edited = p.Path
		}
		dir := filepath.Dir(r.abs(p.Path))
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.Type().IsRegular() && leftover.MatchString(e.Name()) {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	if edited != "" {
		r.review = append(r.review, fmt.Sprintf("An earlier update was interrupted, and %s was edited before it could be finished; its commits are read again", edited))
	} else if err := r.putAll(left); err != nil {
		return fmt.Errorf("an update of the memory files was interrupted and cannot be finished: %w", err)
	}
	return r.done(edited == "")
}

// done forgets what was pending.
func (r *run) done(written bool) error {
	for _, p := range r.journal.Pending {
		if written && p.Path == r.paths[memory.State] {
			r.journal.State = digest(p.After)
		}
	}
	r.journal.Pending = nil
	return r.save()
}

// store writes all files or none, in their order.
func (r *run) store(changes []pending) error {
	for i := range changes {
		if err := r.prepare(&changes[i]); err != nil {
			return fmt.Errorf("%w; nothing was written", err)
		}
	}
	r.journal.Pending = changes
	if err := r.save(); err != nil {
		return err
	}
	if err := r.putAll(changes); err != nil {
		return errors.Join(fmt.Errorf("%w; nothing was written", err), r.done(false))
	}
	return r.done(true)
}

// prepare makes sure, as far as one can, that a file can be written.
func (r *run) prepare(p *pending) error {
	name := r.abs(p.Path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("cannot make the folder of %s (%w)", p.Path, err)
	}
	data, mode, err := r.now(p.Path)
	switch {
	case err != nil:
		return fmt.Errorf("cannot read %s (%w)", p.Path, err)
	case digestOf(data) != p.Before:
		return fmt.Errorf("%s was edited in this moment; run this again", p.Path)
	case mode&0o200 == 0:
		return fmt.Errorf("%s is read-only; make it writable with chmod u+w", p.Path)
	case unix.Access(filepath.Dir(name), unix.W_OK) != nil:
		return fmt.Errorf("the folder of %s is read-only; make it writable", p.Path)
	}
	p.Mode = mode
	return nil
}

// putAll writes files; where one fails, those before it get their old bytes back.
func (r *run) putAll(files []pending) error {
	var undo []func() error
	for _, p := range files {
		name := r.abs(p.Path)
		before, mode, err := r.now(p.Path)
		if err == nil {
			if err = project.WriteFileAtomic(name, p.After, p.Mode); err == nil {
				undo = append(undo, func() error {
					if before == nil {
						return os.Remove(name)
					}
					return project.WriteFileAtomic(name, before, mode)
				})
				continue
			}
		}
		errs := []error{fmt.Errorf("cannot write %s: %w", p.Path, err)}
		for _, back := range slices.Backward(undo) {
			errs = append(errs, back())
		}
		return errors.Join(errs...)
	}
	return nil
}
