package tools

import (
	"fmt"
	"strings"
)

// piece is one thing to show: a line, and text below it that may be left out.
type piece struct {
	head  string
	whole string
	short string // shown where whole does not fit
}

// page is a text of limited size.
type page struct {
	room  int // bytes
	cut   int // pieces left out before
	notes []string
}

// noteRoom is kept for the line that says what was cut.
const noteRoom = 240

// write puts as many heads on the page as fit, then the text of the first pieces, and
// says what was cut. Without pieces it is empty and the notes.
func (p *page) write(pieces []piece, empty string) string {
	room := p.room - noteRoom
	for _, n := range p.notes {
		room -= len(n) + 1
	}
	shown := 0
	for _, x := range pieces {
		if len(x.head)+2 > room && shown > 0 {
			break
		}
		room -= len(x.head) + 2
		shown++
	}
	var b strings.Builder
	b.WriteString(empty)
	shortened := 0
	for i, x := range pieces[:shown] {
		if i > 0 {
			b.WriteByte('\n')
			if x.whole != "" {
				b.WriteByte('\n')
			}
		}
		b.WriteString(x.head)
		body := x.whole
		if len(body)+1 > room {
			body = x.short
		}
		if len(body)+1 > room {
			body = ""
		}
		if body != x.whole {
			shortened++
		}
		if body != "" {
			room -= len(body) + 1
			b.WriteByte('\n')
			b.WriteString(body)
		}
	}
	for _, n := range p.notes {
		b.WriteString("\n\n" + n)
	}
	left := p.cut + len(pieces) - shown
	var what []string
	if left > 0 {
		what = append(what, fmt.Sprintf("%d more left out", left))
	}
	if shortened > 0 {
		what = append(what, fmt.Sprintf("%d shown without all lines", shortened))
	}
	if len(what) > 0 {
		fmt.Fprintf(&b, "\n\nCut to %d tokens: %s. Read the files at these lines, or call again with a larger budget (at most %d).", p.room/4, strings.Join(what, ", "), mostBudget)
	}
	return strings.TrimLeft(b.String(), "\n")
}
