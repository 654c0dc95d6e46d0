// Package installation puts our hooks and our MCP server into the settings files of a
// context's repositories and takes them out again. What becomes of a file's bytes is
// decided in claude/settings; which files, whether they may be touched, and how the
// bytes from before come back is decided here.
//
// # What is kept
//
// installed/<hash of the file's name>/ in the context's folder, one folder a file that
// was changed:
//
//	record.json   see record
//	original      the file's bytes from before, when there was one
//
// A file whose bytes are still those that were written gets its original ones back; from
// one that somebody else has changed since, our entries alone are taken out.
package installation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/claude/settings"
	"github.com/chinvex/chinvex/project"
)

// Action is what was done about one file.
type Action string

const (
	Installed Action = "installed" // ours were not there before
	Updated   Action = "updated"
	Unchanged Action = "unchanged" // byte for byte
	Removed   Action = "removed"   // ours were taken out; what others wrote stands
	Restored  Action = "restored"  // to the bytes from before
	Deleted   Action = "deleted"   // there was no file before
	Skipped   Action = "skipped"   // not one byte changed; Reason says why
	NoTree    Action = "no tree"   // it is no git work tree, or gone; Reason says which
)

// Result is what became of one file.
type Result struct {
	Repo   string   `json:"repo"`
	File   string   `json:"file"` // absolute; the folder when it is no git work tree
	Action Action   `json:"action"`
	Reason string   `json:"reason,omitempty"` // of Skipped and NoTree
	Notes  []string `json:"notes,omitempty"`
	// Warnings say what keeps the client from running what the file holds.
	Warnings []string `json:"warnings,omitempty"`
}

// Options says what is wanted, and where.
type Options struct {
	State   project.Home
	Context *project.Context     // nil: there is none, Repos says where to take ours out
	Repos   []project.Repository // nil for the context's
	Choice  project.Hooks
	Home    string // state directory for the commands, "" for the default one
	DryRun  bool   // change nothing and say what would become of each file
	All     bool   // Uninstall: what other contexts installed as well
}

// maxSettings bounds a settings file, in bytes.
const maxSettings = 1 << 20

// target is one settings file of one repository.
type target struct {
	repo string
	root string // the work tree: the file must not lie outside
	name string // relative to root
	// install is nil where ours do not belong.
	install   func(old []byte) (settings.Change, error)
	uninstall func(old []byte) (c settings.Change, removed, empty bool, err error)
}

const (
	sharedName = ".claude/settings.json"
	localName  = ".claude/settings.local.json"
	serverName = ".mcp.json"
)

// Install puts ours into the files that the choice names, and takes out of the others
// what an earlier Install put there. A file that cannot be merged is skipped, with the
// reason, and costs no other one. With project.HooksNone it does nothing.
func Install(ctx context.Context, o Options) []Result {
	if o.Choice.Place == project.HooksNone {
		return nil
	}
	return o.each(true, func(t target) (Result, bool) {
		if t.install != nil {
			return o.put(ctx, t), true
		}
		if rec, _ := o.record(t); rec == nil {
			return Result{}, false
		}
		r := o.take(ctx, t)
		return r, r.Action != Unchanged
	})
}

// Uninstall takes ours out of every file, whoever put them there, and leaves those of
// another context that claims the repository too.
func Uninstall(ctx context.Context, o Options) []Result {
	results := o.each(false, func(t target) (Result, bool) {
		r := o.take(ctx, t)
		return r, r.Action != Unchanged
	})
	if o.Context != nil && !o.DryRun {
		_ = os.Remove(o.Context.InstalledDir()) // when nothing is left in it
	}
	return results
}

// each runs do for the files of every repository, each file once. What is no work tree
// has none, which report tells.
func (o *Options) each(report bool, do func(target) (Result, bool)) []Result {
	results := []Result{}
	seen := map[string]bool{}
	repos := o.Repos
	if repos == nil && o.Context != nil {
		repos = o.Context.Includes.Repos
	}
	for _, r := range repos {
		root, main, ok := project.WorkTreeRoot(r.Root)
		if _, err := os.Stat(r.Root); err != nil || !ok {
			reason := "it is not a git work tree, and hooks go into git work trees only"
			if err != nil {
				reason = "it is not there"
			}
			if report {
				results = append(results, Result{Repo: r.Name, File: r.Root, Action: NoTree, Reason: reason})
			}
			continue
		}
		for _, t := range o.targets(r.Name, root, main) {
			if file := filepath.Join(t.root, t.name); !seen[file] {
				seen[file] = true
				if res, tell := do(t); tell {
					res.Repo, res.File = t.repo, file
					results = append(results, res)
				}
			}
		}
	}
	return results
}

// targets are the files of one repository. The client looks for settings.local.json at
// the root of the main checkout too, for settings.json where it is started only.
func (o *Options) targets(repo, root, main string) []target {
	entries := o.entries()
	installHooks := func(root string) func([]byte) (settings.Change, error) {
		return func(old []byte) (settings.Change, error) {
			return settings.Install(old, entries, func(name string) bool { return o.claims(name, root) })
		}
	}
	uninstallHooks := func(old []byte) (settings.Change, bool, bool, error) {
		c, n, empty, err := settings.Uninstall(old)
		return c, n > 0, empty, err
	}
	shared := target{repo: repo, root: root, name: sharedName, uninstall: uninstallHooks}
	local := target{repo: repo, root: main, name: localName, uninstall: uninstallHooks}
	server := target{repo: repo, root: root, name: serverName, uninstall: settings.UninstallServer}
	if o.Choice.Place == project.HooksLocal {
		local.install = installHooks(main)
	} else {
		shared.install = installHooks(root)
	}
	if o.Choice.MCP {
		var args []string
		if o.Home != "" {
			args = []string{"--home", o.Home}
		}
		server.install = func(old []byte) (settings.Change, error) { return settings.InstallServer(old, args) }
	}
	return []target{shared, local, server}
}

func (o *Options) entries() []claude.Entry {
	if o.Context == nil {
		return nil
	}
	entries := claude.Call{Context: o.Context.Name, Home: o.Home}.Entries()
	if o.Choice.StartupOnly {
		entries = slices.DeleteFunc(entries, func(e claude.Entry) bool {
			own, _ := settings.Recognise(e.Command)
			return !own.Brief
		})
	}
	return entries
}

// claims tells whether name is another context than ours, exists, and indexes something
// in the work tree at root.
func (o *Options) claims(name, root string) bool {
	if o.All {
		return false
	}
	c, err := o.State.Context(name)
	if err != nil || o.Context != nil && c.Name == o.Context.Name {
		return false
	}
	return slices.ContainsFunc(c.Includes.Repos, func(r project.Repository) bool {
		tree, _, ok := project.WorkTreeRoot(r.Root)
		return ok && tree == root
	})
}

// file is a settings file as it is on disk.
type file struct {
	path   string // links resolved
	data   []byte // nil when there is none
	mode   fs.FileMode
	exists bool
}

// open reads a target. The error is a reason to leave it alone.
func (t target) open() (file, error) {
	r := project.Repository{Root: t.root}
	p, ok := r.PathOf(filepath.Join(t.root, t.name))
	if !ok {
		return file{}, errors.New("it leads out of the repository through a symbolic link; make it a file of the repository")
	}
	f := file{path: r.Abs(p), mode: 0o644}
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("it cannot be looked at (%w)", err)
	}
	f.mode, f.exists = info.Mode().Perm(), true
	if f.data, err = project.ReadRegular(f.path, maxSettings); err != nil {
		return f, fmt.Errorf("it cannot be read (%w)", err)
	}
	if f.data == nil {
		f.data = []byte{}
	}
	return f, nil
}

func skipped(err error) Result { return Result{Action: Skipped, Reason: err.Error()} }

// put installs into one file.
func (o *Options) put(ctx context.Context, t target) Result {
	f, err := t.open()
	if err != nil {
		return skipped(err)
	}
	change, err := t.install(f.data)
	if err != nil {
		return skipped(err)
	}
	res := Result{Action: Updated, Notes: change.Notes, Warnings: change.Warnings}
	if f.exists && bytes.Equal(f.data, change.Bytes) {
		res.Action = Unchanged
		return res
	}
	if f.exists && f.mode&0o200 == 0 {
		return skipped(errors.New("it is read-only; make it writable for chinvex to add its entries"))
	}
	before, removed, empty, err := t.uninstall(f.data)
	if err != nil || !f.exists || !removed {
		res.Action = Installed
	}
	if o.DryRun {
		return res
	}
	rec, original := o.record(t)
	switch {
	case rec == nil:
		rec, original = &record{Existed: f.exists}, f.data
		if removed { // put there by hand, by another context, or by somebody who committed it
			rec.Existed, original = !empty || !o.made(f.data), before.Bytes
		}
	case rec.Written == hash(f.data) && f.exists: // still as we left it
	case !f.exists:
		rec, original = &record{}, nil
	default: // somebody has changed it since
		rec.Existed, original = rec.Existed || !empty, before.Bytes
	}
	rec.File, rec.Written = filepath.Join(t.root, t.name), hash(change.Bytes)
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return skipped(fmt.Errorf("its folder cannot be made (%w)", err))
	}
	// The record first: a crash in between leaves one that matches no file, and then our
	// entries alone are taken out.
	if err := o.keep(rec, original); err != nil {
		return skipped(fmt.Errorf("its bytes could not be kept aside (%w)", err))
	}
	if err := project.WriteFileAtomic(f.path, change.Bytes, f.mode); err != nil {
		return skipped(fmt.Errorf("it cannot be written (%w)", err))
	}
	if t.name == localName && rec.Exclude == "" {
		err := exclude(ctx, t, rec)
		if err == nil {
			err = o.keep(rec, original)
		}
		if err != nil {
			res.Notes = append(res.Notes, fmt.Sprintf("git could not be told to leave it out (%v); do not commit it", err))
		}
	}
	return res
}

// take takes ours out of one file.
func (o *Options) take(ctx context.Context, t target) Result {
	rec, original := o.record(t)
	f, err := t.open()
	if err != nil {
		if rec == nil {
			return Result{Action: Unchanged} // nothing of ours can be in it
		}
		return skipped(err)
	}
	res := Result{Action: Unchanged}
	if f.exists {
		change, removed, empty, err := t.uninstall(f.data)
		switch {
		case err != nil && rec == nil && !bytes.Contains(f.data, []byte("chinvex")):
			return res
		case err != nil:
			return skipped(err)
		case removed:
			if other := o.others(t, f.data); other != "" {
				return skipped(fmt.Errorf("context %s has its hooks there", other))
			}
			if f.mode&0o200 == 0 {
				return skipped(errors.New("it is read-only; make it writable for chinvex to take its entries out"))
			}
			res.Notes = change.Notes
			asWritten := rec != nil && rec.Written == hash(f.data)
			gone := empty && (rec != nil && !rec.Existed || rec == nil && o.made(f.data))
			switch {
			case gone:
				res.Action = Deleted
			case asWritten:
				res.Action, change.Bytes = Restored, original
			default:
				res.Action = Removed
			}
			if o.DryRun {
				return res
			}
			if gone {
				if err = os.Remove(f.path); err == nil && t.name != serverName {
					_ = os.Remove(filepath.Dir(f.path)) // .claude, when nothing else is in it
				}
			} else {
				err = project.WriteFileAtomic(f.path, change.Bytes, f.mode)
			}
			if err != nil {
				return skipped(fmt.Errorf("it cannot be written (%w)", err))
			}
		}
	}
	if rec != nil && !o.DryRun {
		if err := include(rec); err != nil {
			res.Notes = append(res.Notes, fmt.Sprintf("%s still holds a line for it (%v)", rec.Exclude, err))
		}
		_ = os.RemoveAll(o.recordDir(rec.File))
	}
	return res
}

// others names another context whose start-up hook is in the file.
func (o *Options) others(t target, data []byte) string {
	if t.name == serverName {
		return ""
	}
	entries, _ := settings.Installed(data)
	for _, e := range entries {
		if own, ok := settings.Recognise(e.Command); ok && own.Brief && own.Context != "" && o.claims(own.Context, t.root) {
			return own.Context
		}
	}
	return ""
}

// made tells whether Install would have made exactly this file where there was none.
func (o *Options) made(data []byte) bool {
	if entries, err := settings.Installed(data); err == nil && len(entries) > 0 {
		fresh, err := settings.Install(nil, entries, func(string) bool { return false })
		return err == nil && bytes.Equal(fresh.Bytes, data)
	}
	fresh, err := settings.InstallServer(nil, nil)
	return err == nil && bytes.Equal(fresh.Bytes, data)
}
