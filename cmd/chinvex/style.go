package main

import (
	"io"
	"os"
	"strings"

	"charm.land/lipgloss/v2"
	"golang.org/x/sys/unix"

	"github.com/chinvex/chinvex/cmd/internal/door"
)

// style is how text for people looks: colour on a terminal only, and never with
// NO_COLOR set; lines no wider than the terminal, else than 80 columns.
type style struct {
	terminal bool
	colour   bool
	width    int
}

func newStyle(w io.Writer) *style {
	s := &style{width: 80}
	f, ok := w.(*os.File)
	if !ok {
		return s
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return s
	}
	s.terminal = true
	if size.Col >= 20 {
		s.width = int(size.Col)
	}
	s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

func (s *style) paint(text string, look func(lipgloss.Style) lipgloss.Style) string {
	if !s.colour || text == "" {
		return text
	}
	return look(lipgloss.NewStyle()).Render(text)
}

func (s *style) path(t string) string {
	return s.paint(t, func(l lipgloss.Style) lipgloss.Style { return l.Foreground(lipgloss.Cyan) })
}

func (s *style) bold(t string) string {
	return s.paint(t, func(l lipgloss.Style) lipgloss.Style { return l.Bold(true) })
}

func (s *style) dim(t string) string {
	return s.paint(t, func(l lipgloss.Style) lipgloss.Style { return l.Faint(true) })
}

func (s *style) good(t string) string {
	return s.paint(t, func(l lipgloss.Style) lipgloss.Style { return l.Foreground(lipgloss.Green) })
}

func (s *style) bad(t string) string {
	return s.paint(t, func(l lipgloss.Style) lipgloss.Style { return l.Foreground(lipgloss.Red) })
}

// cut makes one printable line of repository text that leaves room for used columns.
func (s *style) cut(text string, used int) string {
	text = strings.TrimRight(door.Clean(text), " ")
	room := max(s.width-used, 10)
	columns := 0
	for i, r := range text {
		w := 1
		if r >= 0x1100 { // most of it is wide; a line a little short does no harm
			w = 2
		}
		if columns+w > room-1 && len(text)-i > len(string(r)) || columns+w > room {
			return text[:i] + "…"
		}
		columns += w
	}
	return text
}
