package dispatch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// record is one line of the dispatch log, logs/dispatch.jsonl: one event that a context
// claims, whatever came of it.
type record struct {
	Time       time.Time      `json:"time"`
	Session    string         `json:"session"` // hash of the id
	Agent      string         `json:"agent,omitempty"`
	Event      string         `json:"event"`
	Tool       string         `json:"tool,omitempty"`
	Operations []string       `json:"operations,omitempty"` // "search session cookie"
	Candidates int            `json:"candidates"`           // that the engine gave
	Files      []string       `json:"files,omitempty"`      // that were shown, as Path.Rel
	Facts      int            `json:"facts"`                // that were shown
	Lines      int            `json:"lines"`
	Tokens     int            `json:"tokens"`
	Removed    map[string]int `json:"removed,omitempty"` // facts by filter
	Dropped    int            `json:"dropped,omitempty"` // operations that the deadline cut off
	Spawned    []string       `json:"spawned,omitempty"` // "refresh", "ingest"
	Micros     int64          `json:"us"`
	Outcome    string         `json:"outcome"` // "told", "silent", "nothing", "twice", "disabled", "deadline", "error", "panic"
	Error      string         `json:"error,omitempty"`
}

const (
	logName  = "dispatch.jsonl"
	logLimit = 8 << 20 // bytes; then the log is renamed to dispatch.1.jsonl and begun anew
)

// write appends the record. A log that cannot be written is nobody's concern.
func (r *record) write(dir string) {
	const longest = 500 // bytes of an error
	if len(r.Error) > longest {
		r.Error = r.Error[:longest]
	}
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	name := filepath.Join(dir, logName)
	if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() > logLimit {
		_ = os.Rename(name, filepath.Join(dir, "dispatch.1.jsonl"))
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return
	}
	_, _ = file.Write(append(line, '\n'))
	_ = file.Close()
}
