package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"time"
)

// Session is how the last session in a work tree ended: sessions/last-<hash of the
// root>.json, written by the hook at each end. A session that was killed leaves the one
// before.
type Session struct {
	Ended time.Time `json:"ended"`          // zero when there was none
	Head  string    `json:"head,omitempty"` // the commit checked out then, "" when it was not to be read
}

func (c *Context) lastSessionFile(root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(c.SessionsDir(), "last-"+hex.EncodeToString(sum[:8])+".json")
}

// LastSession returns the last session in the work tree or folder at root, zero when
// there was none or its file is damaged.
func (c *Context) LastSession(root string) (s Session) {
	if data, err := ReadRegular(c.lastSessionFile(root), 4<<10); err != nil || json.Unmarshal(data, &s) != nil {
		return Session{}
	}
	return s
}

// SaveLastSession replaces what LastSession returns.
func (c *Context) SaveLastSession(root string, s Session) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return WriteFileAtomic(c.lastSessionFile(root), append(data, '\n'), 0o600)
}
