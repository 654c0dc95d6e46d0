package memory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// constraintSections are those of CONSTRAINTS.md in their order.
var constraintSections = []string{"Infrastructure", "Rules", "Key Facts", "Hazards", "APIs", "Performance", "Security", "Dependencies", supersededName}

const supersededName = "Superseded"

// isRequired tells whether a section is there even when it is empty.
func isRequired(section string) bool {
	return !slices.Contains([]string{"APIs", "Performance", "Security", "Dependencies"}, section)
}

const constraintsTemplate = "<!-- One fact a bullet. `chinvex update-memory` adds bullets and edits them in place with (updated YYYY-MM-DD); it deletes none. What no longer holds moves to Superseded. -->\n\n# Constraints\n"

// bullet is a bullet of CONSTRAINTS.md.
type bullet struct {
	section            *Section
	at                 int       // its place in the file
	raw                string    // marked + head + rest
	marked, head, rest string    // see splitItem
	text               string    // head as a reader sees it
	keys               [2]string // of text, and of that with all that is nested in the bullet
}

func bulletsOf(d *Document) []*bullet {
	var all []*bullet
	d.walk(func(at int, s *Section, _ *Entry, b *Block) {
		if b != nil && b.Type == Item {
			found := &bullet{section: s, at: at, raw: b.Raw}
			found.marked, found.head, found.rest = splitItem(b.Raw)
			found.text = textOf(found.head)
			found.keys = [2]string{key(found.text), key(b.Text())}
			all = append(all, found)
		}
	})
	return all
}

// says tells whether the bullet is the one that a text quotes.
func (b *bullet) says(text string) bool {
	k := key(text)
	return b.keys[0] == k || b.keys[1] == k
}

// nestedLines is what is nested in the bullet if the bullet is not indented.
func (b *bullet) nestedLines() string { return outdent(b.rest, b.marked) }

// outdent takes the indentation of a bullet off lines, which end in "\n" then.
func outdent(lines, marked string) string {
	indent, _ := indentation(marked)
	var out strings.Builder
	for line := range strings.Lines(toLF(lines)) {
		out.WriteString(dedent(line, indent))
	}
	return out.String()
}

// merge is a change of CONSTRAINTS.md in the making.
type merge struct {
	*draft
	doc     *Document
	bullets []*bullet
	touched map[*bullet]bool
	gone    map[string]bool // keys of what the proposal calls old
	edits   splicing
	want    []expected
}

// expected is a bullet that must be there in the end.
type expected struct{ section, text string }

// drawConstraints adds, edits in place and moves to Superseded, and leaves every
// other byte as it is.
func (d *draft) drawConstraints(old *Document, p ConstraintsProposal) *Document {
	fresh := isEmpty(old)
	if fresh {
		old = Parse(Constraints, []byte(constraintsTemplate))
	}
	m := &merge{draft: d, doc: old, bullets: bulletsOf(old), touched: map[*bullet]bool{}, gone: map[string]bool{}}
	before := len(d.problems)
	today := d.env.day().Format(time.DateOnly)

	var rewritten []string // keys of what edits say
	for i, e := range p.Edit {
		where := fmt.Sprintf("constraints.edit[%d]", i)
		text := d.fact(where+".new", e.New)
		b := m.find(where, e.Section, e.Old, func(b *bullet) bool { return b.says(text) && b.section.Is(e.Section) })
		if text == "" {
			continue
		}
		if slices.Contains(rewritten, key(text)) || slices.ContainsFunc(m.bullets, func(other *bullet) bool {
			return b != nil && other != b && other.says(text) && !other.section.Is(supersededName)
		}) {
			d.refuse(Constraints, where+".new", "says what another bullet says: supersede this one instead")
		}
		rewritten = append(rewritten, key(text))
		if b == nil || oneLine(updatedMark.ReplaceAllString(b.text, "")) == text {
			continue
		}
		text += " (updated " + today + ")"
		m.want = append(m.want, expected{e.Section, text})
		_, comments := cutComments(b.head)
		line := spaced(b.marked) + strings.TrimRight(strings.Join(append([]string{text}, comments...), " "), "\r\n")
		if strings.HasSuffix(b.head, "\n") {
			line += "\n"
		}
		m.edits = append(m.edits, splice{start: b.at, end: b.at + len(b.marked) + len(b.head), text: toLF(line)})
	}

	var moved []string
	for i, s := range p.Supersede {
		where := fmt.Sprintf("constraints.supersede[%d]", i)
		reason := d.fact(where+".reason", s.Reason)
		b := m.find(where, s.Section, s.Old, func(b *bullet) bool {
			was, done := strings.CutSuffix(key(supersededMark.ReplaceAllString(b.text, "")), " — "+key(reason))
			quoted := key(clean(withoutComments(s.Old))) // with or without what is nested in it
			return done && b.section.Is(supersededName) && (quoted == key(clean(was)) || strings.HasPrefix(quoted, clean(was)+" "))
		})
		if b == nil || reason == "" {
			continue
		}
		mark := "(Superseded " + today + ") "
		m.want = append(m.want, expected{supersededName, mark + b.text + " — " + reason})
		text := spaced(strings.TrimLeft(b.marked, " ")) + mark + toLF(strings.TrimSpace(b.head)) + " — " + reason + "\n" + b.nestedLines()
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		m.edits.remove(b.at, b.raw)
		moved = append(moved, text)
	}

	added := map[string][]string{} // texts for sections, by their names in the file or in constraintSections
	for i, a := range p.Add {
		where := fmt.Sprintf("constraints.add[%d]", i)
		text := d.fact(where+".text", a.Text)
		name := m.sectionFor(where, a.Section)
		if text == "" || name == "" {
			continue
		}
		switch {
		case m.gone[key(text)]:
			d.refuse(Constraints, where, "adds what the proposal edits or supersedes: do one of the two")
		case slices.Contains(rewritten, key(text)):
		case slices.ContainsFunc(m.bullets, func(b *bullet) bool { return b.says(text) && !b.section.Is(supersededName) }):
		default:
			rewritten = append(rewritten, key(text))
			added[name] = append(added[name], text)
			m.want = append(m.want, expected{name, text})
		}
	}
	if len(d.problems) > before {
		return old
	}

	if !fresh && len(m.edits) == 0 && len(added) == 0 {
		return Parse(Constraints, old.Bytes())
	}
	return m.write(added, moved)
}

// spaced is a bullet's marker with what parts it from a text.
func spaced(marked string) string {
	if strings.TrimRight(marked, " \t") == marked {
		marked += " "
	}
	return marked
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// fact returns a text as the head of a bullet, without the mark of an edit, which
// is not a writer's to make; "" with the reasons why it cannot be one.
func (d *draft) fact(where, text string) string {
	if strings.ContainsAny(strings.TrimSpace(text), "\n\r\v\f\u0085\u2028\u2029") {
		d.refuse(Constraints, where, "has several lines: one fact a bullet, each on one line")
		return ""
	}
	return d.line(Constraints, where, updatedMark.ReplaceAllString(text, ""), MaxFact)
}

// find returns the bullet of a section that a text quotes. It is nil when there is
// none, without a problem when done finds that the change has been made already.
func (m *merge) find(where, section, quoted string, done func(*bullet) bool) *bullet {
	if quoted = clean(withoutComments(quoted)); quoted == "" {
		m.refuse(Constraints, where+".old", "says nothing: quote a bullet as it is")
		return nil
	}
	m.gone[key(quoted)] = true
	if plainName(section) == plainName(supersededName) {
		m.refuse(Constraints, where+".section", "is Superseded, which is history: leave it as it is")
		return nil
	}
	var found, elsewhere []*bullet
	for _, b := range m.bullets {
		switch {
		case !b.says(quoted) && key(clean(b.text)) != key(quoted):
		case b.section.Is(section):
			found = append(found, b)
		case !b.section.Is(supersededName):
			elsewhere = append(elsewhere, b)
		}
	}
	switch {
	case len(found) > 1:
		m.refuse(Constraints, where+".old", "stands %d times in %s: a person must merge these bullets first", len(found), section)
	case len(found) == 1 && m.touched[found[0]]:
		m.refuse(Constraints, where+".old", "is changed by another part of the proposal: change a bullet once")
	case len(found) == 1:
		m.touched[found[0]] = true
		return found[0]
	case slices.ContainsFunc(m.bullets, done):
	case len(elsewhere) > 0:
		m.refuse(Constraints, where+".section", "is %q, but the bullet stands in %q: name that", section, elsewhere[0].section.Name)
	default:
		m.refuse(Constraints, where+".old", "is no bullet of %q: quote one as it is", section)
	}
	return nil
}

// sectionFor returns a section's name as the file or constraintSections has it, or
// "" with the reason why nothing can be added there.
func (m *merge) sectionFor(where, section string) string {
	if plainName(section) == plainName(supersededName) {
		m.refuse(Constraints, where+".section", "is Superseded, which only takes what supersede names: name another")
		return ""
	}
	if s := m.doc.Section(section); s != nil {
		return s.Name
	}
	for _, name := range constraintSections {
		if plainName(name) == plainName(section) {
			return name
		}
	}
	m.refuse(Constraints, where+".section", "is %q, which is not there: name one of the file or of %s", oneLine(section), strings.Join(constraintSections[:len(constraintSections)-1], ", "))
	return ""
}

// write makes the file: new bullets at the end of their sections, then the
// sections that are missing.
func (m *merge) write(added map[string][]string, moved []string) *Document {
	for _, name := range slices.Sorted(maps.Keys(added)) {
		if s := m.doc.Section(name); s != nil {
			at, mark, apart := placeAtEnd(m.doc, s)
			m.edits.insert(at, mark+strings.Join(added[name], "\n"+mark)+"\n", apart)
		}
	}
	if s := m.doc.Section(supersededName); s != nil && len(moved) > 0 {
		at, _, apart := placeAtEnd(m.doc, s)
		m.edits.insert(at, strings.Join(moved, ""), apart)
	}
	for i, name := range constraintSections {
		if m.doc.Section(name) != nil || len(added[name]) == 0 && !isRequired(name) {
			continue
		}
		text := "## " + name + "\n"
		for _, line := range added[name] {
			text += "- " + line + "\n"
		}
		if name == supersededName {
			text += strings.Join(moved, "")
		}
		m.edits.insert(m.placeSection(i), text, true)
	}
	made := Parse(Constraints, []byte(m.edits.apply(string(m.doc.Bytes()))))
	have := map[expected]bool{}
	for _, b := range bulletsOf(made) {
		have[expected{plainName(b.section.Name), b.text}] = true
	}
	for _, want := range m.want {
		if !have[expected{plainName(want.section), want.text}] {
			m.refuse(Constraints, "section "+want.section, "cannot take %q: a comment, a block of code or a backquote before it never ends; end it", shorten(want.text))
		}
	}
	for _, name := range constraintSections {
		if isRequired(name) && made.Section(name) == nil {
			m.refuse(Constraints, "the file", "cannot take the section %q: a comment or a block of code before it never ends; end it", name)
		}
	}
	touched := map[*Block]bool{}
	m.doc.walk(func(at int, _ *Section, _ *Entry, b *Block) {
		touched[b] = b != nil && slices.ContainsFunc(m.edits, func(e splice) bool { return e.start == at && e.end > at })
	})
	m.holdRest(m.doc, made, touched)
	return made
}

// placeSection returns where a section that is missing goes: behind those that come
// before it, else before those that come after it, else at the end.
func (m *merge) placeSection(index int) int {
	for i := index - 1; i >= 0; i-- {
		if s := m.doc.Section(constraintSections[i]); s != nil {
			_, end := m.doc.extent(s)
			return end
		}
	}
	for _, name := range constraintSections[index:] {
		if s := m.doc.Section(name); s != nil {
			start, _ := m.doc.extent(s)
			return start
		}
	}
	return len(m.doc.Bytes())
}

// holdRest refuses a change that makes something else of what it did not mean to
// touch: where a bullet stood between two pieces that read otherwise side by side.
func (d *draft) holdRest(old, made *Document, touched map[*Block]bool) {
	if len(d.problems) > 0 {
		return
	}
	type piece struct {
		section, entry, raw string
		blockType           BlockType
	}
	pieces := func(doc *Document) []piece {
		var all []piece
		doc.walk(func(_ int, s *Section, e *Entry, b *Block) {
			p := piece{section: s.Name}
			if e != nil {
				p.entry = e.Heading
			}
			switch {
			case b == nil && e == nil && s.Level == 0, b != nil && (b.Type == Blank || touched[b]):
				return
			case b != nil:
				p.raw, p.blockType = strings.TrimRight(b.Raw, "\r\n"), b.Type
			}
			p.entry = strings.TrimRight(p.entry, "\r\n")
			all = append(all, p)
		})
		return all
	}
	rest := pieces(made)
	for _, p := range pieces(old) {
		i := slices.Index(rest, p)
		if i < 0 {
			d.refuse(old.Kind, "section "+p.section, "would read otherwise after the change, at %q: a person must make it", shorten(oneLine(p.raw)))
			return
		}
		rest = rest[i+1:]
	}
}
