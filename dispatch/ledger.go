package dispatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/project"
)

// The session ledger, sessions/<hash of the session id>.jsonl, remembers what one
// session was told. Each line is an entry; lines are only ever appended, one write each,
// so that hooks that run side by side lose nothing. Between reading and appending a hook
// holds the file's lock, for two hooks of one turn not to say the same, and for an event
// that reaches two hooks (a plugin's and the project's) to be answered once. A line that
// cannot be read is passed over.
type entry struct {
	Prompt   int       `json:"p"`              // number of the prompt in the session, from 1
	PromptID string    `json:"id,omitempty"`   // the client's
	Agent    string    `json:"a,omitempty"`    // of a subagent: what it is told the session's own agent does not see
	Call     string    `json:"c,omitempty"`    // of a tool, the client's id: what was answered
	Keys     []string  `json:"k,omitempty"`    // facts that were told
	Related  []string  `json:"r,omitempty"`    // files whose related files were told
	Learned  []learned `json:"l,omitempty"`    // code that the agent read
	Edited   []string  `json:"e,omitempty"`    // files, as Path.Rel
	Tokens   int       `json:"n,omitempty"`    // that were told
	Forget   bool      `json:"zero,omitempty"` // the client cleared the agent's memory
}

type learned struct {
	File  string `json:"f"` // fileKey
	Start int    `json:"s,omitempty"`
	End   int    `json:"e,omitempty"`
	at    int    // prompt
}

const (
	ledgerAge  = 7 * 24 * time.Hour // after its last entry a ledger is removed
	ledgerRead = 1 << 20            // bytes of its end that are read
	lockWait   = 20 * time.Millisecond
)

// session is what the ledger says, as one agent sees it.
type session struct {
	file    *os.File // nil when there is none to write to
	event   *claude.Event
	prompt  int
	id      string // of the prompt
	shown   map[string]int
	related map[string]int
	learned []learned
	edited  []string // files, the last one last, each once
	tokens  int
	// answered tells that another hook got the same event and has had its say.
	answered bool
}

func fileKey(p project.Path) string { return key(p.Repo, p.Rel) }

// sessionHash names a session in files: ids come from outside and may hold anything.
func sessionHash(id string) string { return key("session", id) }

// openSession reads the ledger of the event's session and locks it. The session is
// whole in any case; an error says why it remembers nothing or will not be written.
func openSession(dir string, e *claude.Event) (*session, error) {
	s := &session{event: e}
	s.forget()
	name := filepath.Join(dir, sessionHash(e.SessionID)+".jsonl")
	file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		if readable, e := os.Open(name); e == nil {
			s.read(readable)
			readable.Close()
		}
	} else if info, e := file.Stat(); e != nil || !info.Mode().IsRegular() {
		file.Close()
		err = &os.PathError{Op: "open", Path: name, Err: syscall.EINVAL}
	} else {
		s.file = file
		lock(file)
		err = s.read(file)
	}
	if e.Name == "UserPromptSubmit" && e.PromptID != "" && e.PromptID == s.id {
		s.answered = true
	}
	if e.Name == "UserPromptSubmit" && e.PromptID == "" || e.PromptID != "" && e.PromptID != s.id {
		s.prompt, s.id = s.prompt+1, e.PromptID
	}
	return s, err
}

// lock waits for the lock, but not long: without it two hooks may say the same.
func lock(file *os.File) {
	for end := time.Now().Add(lockWait); ; time.Sleep(time.Millisecond) {
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil || time.Now().After(end) {
			return
		}
	}
}

func (s *session) forget() {
	s.shown, s.related, s.learned, s.tokens = map[string]int{}, map[string]int{}, nil, 0
}

func (s *session) read(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	from := max(0, info.Size()-ledgerRead)
	data, err := io.ReadAll(io.NewSectionReader(file, from, ledgerRead))
	if err != nil {
		return err
	}
	if from > 0 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		var x entry
		if len(line) == 0 || json.Unmarshal(line, &x) != nil || x.Prompt < 0 {
			continue
		}
		s.prompt, s.id = x.Prompt, x.PromptID
		if x.Forget {
			s.forget()
		}
		s.tokens += max(x.Tokens, 0)
		s.answered = s.answered || x.Call != "" && x.Call == s.event.ToolUseID
		for _, file := range x.Edited {
			s.edited = append(slices.DeleteFunc(s.edited, func(f string) bool { return f == file }), file)
		}
		if x.Agent != s.event.AgentID {
			continue
		}
		for _, k := range x.Keys {
			s.shown[k] = x.Prompt
		}
		for _, k := range x.Related {
			s.related[k] = x.Prompt
		}
		for _, l := range x.Learned {
			l.at = x.Prompt
			s.learned = append(s.learned, l)
		}
	}
	return nil
}

// knows tells whether the agent has read the code that a fact shows.
func (s *session) knows(f *Fact, expiry int) bool {
	if f.Start == 0 || len(s.learned) == 0 {
		return false
	}
	file := fileKey(f.Path)
	for _, l := range s.learned {
		if l.File == file && s.prompt-l.at < expiry && (l.Start == 0 || l.Start <= f.End) && (l.End == 0 || l.End >= f.Start) {
			return true
		}
	}
	return false
}

// recall says what has been edited, to an agent that has just lost its memory of it.
func (s *session) recall() string {
	const most = 20
	if len(s.edited) == 0 {
		return ""
	}
	files := slices.Clone(s.edited)
	slices.Reverse(files)
	text := "Edited in this session, the last one first: " + strings.Join(files[:min(most, len(files))], ", ")
	if len(files) > most {
		text += fmt.Sprintf(" and %d more", len(files)-most)
	}
	return text
}

func (s *session) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// append remembers what was told and closes the ledger. An event that told and taught
// nothing leaves no line, but a prompt does: prompts are counted.
func (s *session) append(plan *Plan, groups []Group, told int) error {
	if s.file == nil {
		return nil
	}
	defer s.close()
	x := entry{Prompt: s.prompt, PromptID: s.id, Agent: s.event.AgentID, Call: s.event.ToolUseID, Tokens: told, Forget: plan.Forget}
	for _, g := range groups {
		for _, f := range g.Facts {
			x.Keys = append(x.Keys, f.Key)
		}
		if g.Kind == Related && len(g.Facts) > 0 {
			x.Related = append(x.Related, fileKey(g.Path))
		}
	}
	for _, p := range plan.Learned {
		x.Learned = append(x.Learned, learned{File: fileKey(p.Path), Start: p.Start, End: p.End})
	}
	for _, p := range plan.Changed {
		x.Edited = append(x.Edited, p.Rel)
	}
	if len(x.Keys)+len(x.Learned)+len(x.Edited) == 0 && !x.Forget && s.event.Name != "UserPromptSubmit" {
		return nil
	}
	line, err := json.Marshal(x)
	if err != nil {
		return err
	}
	_, err = s.file.Write(append(line, '\n'))
	return err
}

// prune removes the ledgers of sessions that ended long ago.
func prune(dir string, now time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".jsonl") && now.Sub(info.ModTime()) > ledgerAge {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
