package server

import (
	"errors"
	"sync"
	"time"
)

// ErrExpired says that a session is too old.
var ErrExpired = errors.New("session expired")

// SessionStore keeps login sessions in memory.
type SessionStore struct {
	mu       sync.Mutex
	sessions map[string]session
	lifetime time.Duration
}

type session struct {
	user    string
	created time.Time
}

// Lookup returns the user of a session token. An old session is removed.
func (s *SessionStore) Lookup(token string, now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.sessions[token]
	if !ok || now.Sub(found.created) > s.lifetime {
		delete(s.sessions, token)
		return "", ErrExpired
	}
	return found.user, nil
}

// Purge removes every session that has outlived its time.
func (s *SessionStore) Purge(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, one := range s.sessions {
		if now.Sub(one.created) > s.lifetime {
			delete(s.sessions, token)
		}
	}
}
