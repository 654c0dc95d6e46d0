package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write ../docs/session.svg")

// TestPicture draws a short session, for the README: what the agent does as it stands in
// the client's requests, and below it what chinvex put there. The picture in docs has to
// show the same, but for the times.
func TestPicture(t *testing.T) {
	t.Parallel()
	program := client(t, current)
	p := newPlace(t)
	p.chinvex("ingest")
	brief := strings.TrimSpace(p.chinvex("brief", "--context", "shop"))
	const prompt = "Count money in whole cents, not in floating-point euros."
	m := NewModel(Script{Turns: []Turn{
		p.bash("grep -rn 'function grandTotal' ."),
		p.edit("lib/price.js", "amount: Number(amount)", "amount: Math.round(Number(amount) * 100)"),
		p.bash("node test/cart.test.js"),
		{Text: "Done."},
	}})
	p.run(program, m, func(s *Session) { s.Prompt = prompt })

	var d drawing
	d.line(0, bold, fmt.Sprintf("Claude Code %s in the repository shop, with chinvex", current))
	d.line(0, dim, "The model is scripted; the client, its tools and the hooks are real. Beside the bars: what")
	d.line(0, dim, "chinvex put into the client's requests, … where it is cut. On the right: time in the hook.")
	events := p.dispatched()
	first := m.Asked("", 0)
	for _, h := range fresh(t, m, "", 0) {
		if h.Event != "SessionStart" || !strings.HasPrefix(h.Text, brief) {
			t.Fatalf("the session does not begin with the brief alone: %v", h)
		}
	}
	d.step("", "a session starts", nil)
	d.told(excerpt(brief, func(i int, line string) bool {
		return i < 4 || strings.HasPrefix(line, "Rules") || strings.HasPrefix(line, "Hazards")
	}))
	if !strings.Contains(first.firstPrompt(), prompt) {
		t.Errorf("the prompt is not in the first request")
	}
	d.step("the person asks", prompt, events.next(t, "UserPromptSubmit", ""))
	for turn := 1; m.Asked("", turn) != nil; turn++ {
		r := m.Asked("", turn)
		c := lastCall(r)
		hooks := fresh(t, m, "", turn)
		if len(hooks) != 1 || hooks[0].Of != c.Name {
			t.Fatalf("turn %d: want one text for %s, there is %v", turn, c.Name, hooks)
		}
		var input struct {
			Command string `json:"command"`
			File    string `json:"file_path"`
			Old     string `json:"old_string"`
			New     string `json:"new_string"`
		}
		must(t, json.Unmarshal(c.Input, &input))
		d.step(c.Name, p.short(input.Command+input.File), events.next(t, hooks[0].Event, c.Name))
		if input.Old != "" {
			d.line(2, removed, "- "+input.Old)
			d.line(2, added, "+ "+input.New)
		}
		result, more, _ := strings.Cut(p.short(last(r.Results())), "\n")
		if more != "" {
			result += " …"
		}
		d.line(2, dim, result)
		text, _, _ := strings.Cut(hooks[0].Text, "\n\n") // the client's own paragraphs
		d.told(excerpt(text, func(i int, _ string) bool { return i < 9 }))
	}
	drawn := d.svg("A session of Claude Code with chinvex", "What the agent does, and the lines that the hooks of chinvex add: the brief, a definition that grep did not find, who uses an edited function, and the code that a failing test points to.")

	const name = "../docs/session.svg"
	if *update {
		must(t, os.WriteFile(name, []byte(drawn), 0o644))
		return
	}
	kept, err := os.ReadFile(name)
	must(t, err)
	times := regexp.MustCompile(`<text[^>]*>[^<]* ms</text>`)
	if times.ReplaceAllString(drawn, "") != times.ReplaceAllString(string(kept), "") {
		t.Errorf("%s shows another session; go test -run TestPicture ./e2e -update draws it again:\n%s", name, drawn)
	}
}

// short cuts the folder of the repository, another one in each run, off its paths.
func (p *place) short(text string) string { return strings.ReplaceAll(text, p.repo, "…") }

// lastCall is the call whose result a request brings.
func lastCall(r *Request) (found Block) {
	for _, m := range r.parsed.Messages {
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				found = b
			}
		}
	}
	return found
}

// event is a line of the dispatch log.
type event struct {
	Event, Tool, Outcome string
	Us                   int // in the process
}

type eventLog []event

// dispatched reads the log of the repository's context.
func (p *place) dispatched() *eventLog {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.home, ".chinvex/contexts/shop/logs/dispatch.jsonl"))
	must(p.t, err)
	var l eventLog
	for line := range strings.Lines(string(data)) {
		var e event
		must(p.t, json.Unmarshal([]byte(line), &e))
		l = append(l, e)
	}
	return &l
}

// next takes the events up to the next one of its kind.
func (l *eventLog) next(t *testing.T, name, tool string) *event {
	t.Helper()
	for i, e := range *l {
		if e.Event == name && e.Tool == tool {
			*l = (*l)[i+1:]
			return &e
		}
	}
	t.Fatalf("the dispatch log holds no %s:%s", name, tool)
	return nil
}

// excerpt returns the lines to show, and says how many are missing where some are.
func excerpt(text string, show func(i int, line string) bool) []string {
	var lines []string
	missing := 0
	mark := func(more string) {
		if missing > 0 {
			lines = append(lines, fmt.Sprintf("… %d%s lines", missing, more))
			missing = 0
		}
	}
	for i, line := range strings.Split(text, "\n") {
		if !show(i, line) {
			missing++
			continue
		}
		mark("")
		lines = append(lines, line)
	}
	mark(" more")
	return lines
}

// The look of docs/try.svg: sizes in pixels, a fixed width for each character.
const (
	width, margin     = 838, 16 // as wide as GitHub shows it
	charWidth, height = 8.4, 18 // of a character and a line of 14 pixels
	columns           = (width - 2*margin) * 10 / 84
)

const (
	plain   = `fill="#dcdfe4"`
	bold    = `fill="#ffffff" font-weight="bold"`
	dim     = `fill="#9da3ae"`
	accent  = `fill="#98c379"`
	removed = `fill="#e8868f"`
	added   = `fill="#98c379"`
)

// drawing is a picture of text, written from top to bottom.
type drawing struct {
	body strings.Builder
	row  int
}

func (d *drawing) baseline() int { return margin + 12 + d.row*height }

// text writes on the current line, cut where the line ends.
func (d *drawing) text(column int, style, s string) {
	if room := columns - column; utf8.RuneCountInString(s) > room {
		s = string([]rune(s)[:room-1]) + "…"
	}
	if rest := strings.TrimLeft(s, " "); rest != "" {
		column += len(s) - len(rest)
		fmt.Fprintf(&d.body, "<text x=\"%.1f\" y=\"%d\" %s textLength=\"%.1f\">%s</text>\n", margin+float64(column)*charWidth, d.baseline(), style, float64(utf8.RuneCountInString(rest))*charWidth, html.EscapeString(rest))
	}
}

func (d *drawing) next() { d.row++ }

func (d *drawing) line(column int, style, s string) {
	d.text(column, style, s)
	d.next()
}

// step begins a part of the session: who, what, and how long the hook took for it.
func (d *drawing) step(who, what string, e *event) {
	d.next()
	d.text(0, accent, "▸")
	column := 2
	if who != "" {
		d.text(column, accent, who)
		column += len(who) + 2
	}
	d.text(column, bold, what)
	if e != nil {
		took := fmt.Sprintf("%.1f ms", float64(e.Us)/1000)
		if e.Outcome != "told" {
			took = "silent, " + took
		}
		d.text(columns-len(took), dim, took)
	}
	d.next()
}

// told writes what chinvex said, beside a bar.
func (d *drawing) told(lines []string) {
	fmt.Fprintf(&d.body, "<rect x=\"%.1f\" y=\"%d\" width=\"3\" height=\"%d\" fill=\"#61afef\"/>\n", margin+2.4*charWidth, d.baseline()-13, len(lines)*height)
	for _, line := range lines {
		style := plain
		if strings.HasPrefix(line, "… ") {
			style = dim
		}
		d.line(4, style, line)
	}
}

func (d *drawing) svg(title, description string) string {
	tall := d.baseline() + margin - height + 4
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%[3]s">
<title>%[3]s</title>
<desc>%[4]s</desc>
<rect width="100%%" height="100%%" rx="8" fill="#20232a"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" xml:space="preserve">
%[5]s</g></svg>
`, width, tall, html.EscapeString(title), html.EscapeString(description), d.body.String())
}
