package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"github.com/chinvex/chinvex/claude"
)

// Install puts the entries (claude.Call.Entries) into a settings file, nil when there
// is none yet: afterwards the file holds these of ours and no others. A hook of ours
// that is still right stays where it is, with the keys that a person gave it.
//
// other tells whether a brief of another context must stay, because that context
// exists and holds the repository too; ours is not added beside it then, nor beside a
// command of the user's own that calls the same program, and a note says so. hooks.startup,
// which the client rejects, is moved to SessionStart.
//
// An error says what about the file is odd; nothing must be written then.
func Install(old []byte, entries []claude.Entry, other func(context string) bool) (Change, error) {
	d, err := open(old)
	if err != nil {
		return Change{}, err
	}
	c := Change{Warnings: d.warnings()}
	moved, err := d.moveStartup()
	if err != nil {
		return Change{}, err
	}
	if moved != "" {
		c.Notes = append(c.Notes, moved)
		if d, err = d.reopen(); err != nil {
			return Change{}, err
		}
	}
	notes, err := d.install(entries, other)
	if err != nil {
		return Change{}, err
	}
	c.Notes = append(c.Notes, notes...)
	c.Bytes = d.bytes()
	return c, nil
}

// Uninstall takes every hook of ours out of a settings file and counts them; the
// user's compositions stay, with a note. empty tells that nothing is left but an
// empty object, with or without an empty "hooks": whether the file existed before, the
// caller knows.
func Uninstall(old []byte) (c Change, removed int, empty bool, err error) {
	d, err := open(old)
	if err != nil {
		return Change{}, 0, false, err
	}
	for _, f := range slices.Backward(d.find()) {
		if f.ours {
			d.take(f)
			removed++
		} else {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: %q is a command of your own that calls chinvex; it was left as it is", f.event, short(f.command)))
		}
	}
	slices.Reverse(c.Notes)
	if c.Bytes = old; removed > 0 {
		c.Bytes = d.bytes()
	}
	return c, removed, d.bare("hooks"), nil
}

// Installed lists our hooks in a settings file, in its order.
func Installed(data []byte) ([]claude.Entry, error) {
	d, err := open(data)
	if err != nil {
		return nil, err
	}
	var entries []claude.Entry
	for _, f := range d.find() {
		if f.ours {
			entries = append(entries, claude.Entry{Event: f.event, Matcher: f.matcher, Command: f.command})
		}
	}
	return entries, nil
}

// found is a hook that calls chinvex.
type found struct {
	event   string
	matcher string // "" also for "*"
	command string
	own     Own
	ours    bool // false: a composition of the user's

	hook  *hujson.Object // nil for a string in hooks.startup
	group *hujson.Object // nil in hooks.startup outside a group
	alone bool           // the only hook of its group
	at    int            // offset of the hook
	in    int            // offset of the group
	path  []step         // from the innermost container outwards
}

// step is an entry of a container.
type step struct {
	c container
	i int
}

// find lists the hooks that call chinvex in any event, in the file's order. It skips
// what is malformed.
func (d *document) find() (all []found) {
	for ti, m := range d.top.Members {
		hooks, ok := m.Value.Value.(*hujson.Object)
		if text(m.Name) != "hooks" || !ok {
			continue
		}
		for ei, e := range hooks.Members {
			path := []step{{container{obj: hooks, start: m.Value.StartOffset}, ei}, {container{obj: d.top}, ti}}
			all = append(all, inEvent(text(e.Name), e.Value, path)...)
		}
	}
	return all
}

func inEvent(event string, value hujson.Value, path []step) (all []found) {
	startup := event == "startup"
	groups, ok := value.Value.(*hujson.Array)
	if !ok {
		if startup {
			return loose(value, path)
		}
		return nil
	}
	for gi, g := range groups.Elements {
		path := append([]step{{container{arr: groups, start: value.StartOffset}, gi}}, path...)
		group, ok := g.Value.(*hujson.Object)
		if !ok {
			if startup {
				all = append(all, loose(g, path)...)
			}
			continue
		}
		hi, twice := lookup(group, "hooks")
		if hi < 0 && startup {
			all = append(all, loose(g, path)...)
		}
		if hi < 0 || twice {
			continue
		}
		hooks, ok := group.Members[hi].Value.Value.(*hujson.Array)
		if !ok {
			continue
		}
		matcher := ""
		if mi, _ := lookup(group, "matcher"); mi >= 0 {
			v := group.Members[mi].Value
			if matcher = text(v); matcher == "*" {
				matcher = ""
			} else if v.Value.Kind() != '"' {
				matcher = v.String()
			}
		}
		for i, h := range hooks.Elements {
			hook, ok := h.Value.(*hujson.Object)
			if !ok {
				continue
			}
			command, own, ours := hookCommand(hook)
			if !ours && !own.Composed {
				continue
			}
			all = append(all, found{
				event: event, matcher: matcher, command: command, own: own, ours: ours,
				hook: hook, group: group, alone: len(hooks.Elements) == 1, at: h.StartOffset, in: g.StartOffset,
				path: append([]step{{container{arr: hooks, start: group.Members[hi].Value.StartOffset}, i}}, path...),
			})
		}
	}
	return all
}

// loose is a command in hooks.startup that is in no group: a string, or a hook object.
func loose(v hujson.Value, path []step) []found {
	f := found{event: "startup", command: text(v), path: path}
	if hook, ok := v.Value.(*hujson.Object); ok {
		f.command, f.own, f.ours = hookCommand(hook)
	} else {
		f.own, f.ours = Recognise(f.command)
	}
	if !f.ours && !f.own.Composed {
		return nil
	}
	return []found{f}
}

// take removes a hook and each container that this empties and that is ours to
// remove.
func (d *document) take(f found) {
	for level, s := range f.path {
		stays := d.remove(s.c, s.i)
		switch {
		case level == len(f.path)-1, s.c.len() > 0, comments(*s.c.end()) != nil:
			return
		case stays && (level > 0 || f.group == nil): // a group that only held ours goes
			return
		case level == 0 && f.group != nil && !plainGroup(f.group):
			return
		}
	}
}

// plainGroup tells whether a group has no key but its own two.
func plainGroup(group *hujson.Object) bool {
	for _, m := range group.Members {
		if name := text(m.Name); name != "hooks" && name != "matcher" {
			return false
		}
	}
	return true
}

// events is the "hooks" object, nil when there is none, and where it begins.
func (d *document) events() (*hujson.Object, int, error) {
	i, twice := lookup(d.top, "hooks")
	if twice {
		return nil, 0, errors.New(`it has "hooks" twice, of which the client reads the last; make them one`)
	}
	if i < 0 {
		return nil, 0, nil
	}
	v := d.top.Members[i].Value
	hooks, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, 0, fmt.Errorf(`its "hooks" is %s, not an object; make it one, or take it out`, kind(v))
	}
	return hooks, v.StartOffset, nil
}

// groupsOf is the list of an event's groups, nil when the event is not there.
func groupsOf(hooks *hujson.Object, event string) (*hujson.Array, int, error) {
	if hooks == nil {
		return nil, 0, nil
	}
	i, twice := lookup(hooks, event)
	if twice {
		return nil, 0, fmt.Errorf("it has hooks.%s twice, of which the client reads the last; make them one", event)
	}
	if i < 0 {
		return nil, 0, nil
	}
	v := hooks.Members[i].Value
	groups, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, 0, fmt.Errorf("its hooks.%s is %s, not a list; make it one", event, kind(v))
	}
	for n, g := range groups.Elements {
		group, ok := g.Value.(*hujson.Object)
		if !ok {
			return nil, 0, fmt.Errorf("hooks.%s[%d] is %s, not an object; mend it or take it out", event, n, kind(g))
		}
		hi, twice := lookup(group, "hooks")
		_, matchers := lookup(group, "matcher")
		switch {
		case hi < 0:
			return nil, 0, fmt.Errorf(`hooks.%s[%d] has no "hooks"; mend it or take it out`, event, n)
		case twice || matchers:
			return nil, 0, fmt.Errorf("hooks.%s[%d] has a key twice, of which the client reads the last; make them one", event, n)
		}
		if v := group.Members[hi].Value; v.Value.Kind() != '[' {
			return nil, 0, fmt.Errorf(`the "hooks" of hooks.%s[%d] is %s, not a list; mend it or take it out`, event, n, kind(v))
		}
	}
	return groups, v.StartOffset, nil
}

// install makes the file hold entries and nothing else of ours.
func (d *document) install(entries []claude.Entry, other func(context string) bool) (notes []string, err error) {
	hooks, start, err := d.events()
	if err != nil {
		return nil, err
	}
	type want struct {
		claude.Entry
		own  Own
		done bool
	}
	wants := make([]want, len(entries))
	for i, e := range entries {
		own, ok := Recognise(e.Command)
		if !ok || !utf8.ValidString(e.Command) {
			return nil, fmt.Errorf("%q cannot be written as a hook of ours", e.Command)
		}
		if _, _, err := groupsOf(hooks, e.Event); err != nil {
			return nil, err
		}
		wants[i] = want{Entry: e, own: own}
	}

	// What must stay, and stands in for ours.
	var free []found // ours, without a place among the wants
	for _, f := range d.find() {
		isWanted := func(w want) bool { return w.own.Brief && w.own.Context == f.own.Context }
		stays := f.ours && f.own.Brief && f.own.Context != "" && !slices.ContainsFunc(wants, isWanted) && other != nil && other(f.own.Context)
		switch {
		case stays:
			notes = append(notes, fmt.Sprintf("%s has the brief of context %q, which holds this repository too; it stays and no other was added", f.event, f.own.Context))
		case !f.ours:
			notes = append(notes, fmt.Sprintf("%s: %q is a command of your own that calls chinvex; it stays and none was added beside it", f.event, short(f.command)))
		default:
			free = append(free, f)
			continue
		}
		for i, w := range wants {
			if w.Event == f.event && w.own.Brief == f.own.Brief {
				wants[i].done = true
			}
		}
	}

	// Each want takes the hook that fits it best: the right one, then one in the right
	// group, then one whose group is ours alone.
	fits := []func(w want, f found) bool{
		func(w want, f found) bool { return w.Matcher == f.matcher && d.right(w.Command, w.own, f) },
		func(w want, f found) bool { return w.Matcher == f.matcher },
		func(w want, f found) bool { return f.alone },
	}
	taken := make([]bool, len(free))
	settled := make([]bool, len(wants))
	for _, fit := range fits {
		for i, w := range wants {
			if settled[i] {
				continue
			}
			for j, f := range free {
				if taken[j] || f.event != w.Event || f.own.Brief != w.own.Brief || f.group == nil || !fit(w, f) {
					continue
				}
				taken[j], settled[i] = true, true
				if !d.right(w.Command, w.own, f) {
					d.rewrite(f, w.Command)
				}
				if w.Matcher != f.matcher {
					d.match(f, w.Matcher)
				}
				break
			}
		}
	}

	// The missing ones, each in a group of its own behind all others.
	var events []string
	missing := map[string]list{}
	for i, w := range wants {
		if settled[i] || w.done {
			continue
		}
		if missing[w.Event] == nil {
			events = append(events, w.Event)
		}
		missing[w.Event] = append(missing[w.Event], newGroup(w.Matcher, newHook(w.Command)))
	}
	var added object
	for _, event := range events {
		if groups, at, _ := groupsOf(hooks, event); groups != nil {
			for _, g := range missing[event] {
				d.add(container{arr: groups, start: at}, "", g)
			}
		} else if hooks != nil {
			d.add(container{obj: hooks, start: start}, event, missing[event])
		} else {
			added = append(added, member{event, missing[event]})
		}
	}
	if added != nil {
		d.add(container{obj: d.top, start: d.root.StartOffset}, "hooks", added)
	}

	for j, f := range slices.Backward(free) {
		if !taken[j] {
			d.take(f)
		}
	}
	return notes, nil
}

// newGroup and newHook are to be rendered.
func newGroup(matcher string, hook any) object {
	hooks := member{"hooks", list{hook}}
	if matcher == "" {
		return object{hooks}
	}
	return object{{"matcher", matcher}, hooks}
}

func newHook(command string) object {
	return object{{"type", "command"}, {"command", command}}
}

// right tells whether a hook of ours does what the command says: it is the command, or
// says the same with flags of the user's own.
func (d *document) right(command string, own Own, f found) bool {
	typed, _ := lookup(f.hook, "type")
	exec, _ := lookup(f.hook, "args")
	return typed >= 0 && exec < 0 && (f.command == command || f.own.Tuned && f.own.same(own))
}

// rewrite gives a hook of ours the command and keeps its other keys.
func (d *document) rewrite(f found, command string) {
	d.set(f.hook, f.at, "command", command)
	d.set(f.hook, f.at, "type", "command")
	if i, _ := lookup(f.hook, "args"); i >= 0 {
		d.remove(container{obj: f.hook, start: f.at}, i)
	}
}

// match gives a group that holds nothing but our hook the matcher.
func (d *document) match(f found, matcher string) {
	if matcher != "" {
		d.set(f.group, f.in, "matcher", matcher)
	} else if i, _ := lookup(f.group, "matcher"); i >= 0 {
		d.remove(container{obj: f.group, start: f.in}, i)
	}
}

// moveStartup makes what is in hooks.startup entries of SessionStart, and says what it
// did; "" when there was nothing.
func (d *document) moveStartup() (note string, err error) {
	hooks, start, err := d.events()
	if err != nil || hooks == nil {
		return "", err
	}
	i, twice := lookup(hooks, "startup")
	if i < 0 {
		return "", nil
	}
	if twice {
		return "", errors.New("it has hooks.startup twice; move both to SessionStart")
	}
	const by = "move it to SessionStart by hand"
	m := hooks.Members[i]
	items := []hujson.Value{m.Value}
	extras := []hujson.Extra{m.Name.AfterExtra, m.Value.BeforeExtra}
	if array, ok := m.Value.Value.(*hujson.Array); ok {
		items = array.Elements
		extras = append(extras, array.AfterExtra)
		for _, e := range items {
			extras = append(extras, e.BeforeExtra, e.AfterExtra)
		}
	}
	if slices.ContainsFunc(extras, func(x hujson.Extra) bool { return comments(x) != nil }) {
		return "", fmt.Errorf("hooks.startup, which the client rejects, holds comments; %s", by)
	}
	var groups list
	var users []string
	for _, item := range items {
		g, commands, err := d.startupGroup(item)
		if err != nil {
			return "", fmt.Errorf("hooks.startup, which the client rejects, holds %w; %s", err, by)
		}
		if g != nil {
			groups, users = append(groups, g), append(users, commands...)
		}
	}
	session, at, err := groupsOf(hooks, "SessionStart")
	if err != nil {
		return "", err
	}
	if session == nil && len(groups) > 0 {
		d.add(container{obj: hooks, start: start}, "SessionStart", groups)
	} else {
		for _, g := range groups {
			d.add(container{arr: session, start: at}, "", g)
		}
	}
	d.remove(container{obj: hooks, start: start}, i)
	switch quoted := quote(users); len(users) {
	case 0:
		return "hooks.startup, which the client rejects, was taken out; nothing of yours was in it", nil
	case 1:
		return fmt.Sprintf("hooks.startup, which the client rejects, is an entry of SessionStart now: %s", quoted), nil
	default:
		return fmt.Sprintf("hooks.startup, which the client rejects, is %d entries of SessionStart now: %s", len(users), quoted), nil
	}
}

// startupGroup makes an entry of hooks.startup a group, nil for an empty command, and
// gives the commands in it that are not ours. What is ours is moved with the rest:
// install finds it there.
func (d *document) startupGroup(item hujson.Value) (g any, users []string, err error) {
	hook, ok := item.Value.(*hujson.Object)
	if !ok {
		command := text(item)
		switch _, ours := Recognise(command); {
		case item.Value.Kind() != '"':
			return nil, nil, errors.New(kind(item))
		case strings.TrimSpace(command) == "":
			return nil, nil, nil
		case !ours:
			users = []string{command}
		}
		return newGroup("", newHook(command)), users, nil
	}
	if hi, _ := lookup(hook, "hooks"); hi >= 0 {
		inner, ok := hook.Members[hi].Value.Value.(*hujson.Array)
		if !ok {
			return nil, nil, errors.New("a group without a list of hooks")
		}
		for _, e := range inner.Elements {
			h, ok := e.Value.(*hujson.Object)
			if !ok {
				return nil, nil, fmt.Errorf("%s where a hook must be", kind(e))
			}
			if command, _, ours := hookCommand(h); !ours {
				users = append(users, command)
			}
		}
		return raw(hujson.Value{Value: hook}.Pack()), users, nil
	}
	if ci, _ := lookup(hook, "command"); ci < 0 {
		return nil, nil, errors.New("an object that is no hook")
	}
	if ti, _ := lookup(hook, "type"); ti < 0 {
		d.set(hook, item.StartOffset, "type", "command")
	}
	if command, _, ours := hookCommand(hook); !ours {
		users = []string{command}
	}
	return newGroup("", raw(hujson.Value{Value: hook}.Pack())), users, nil
}

func quote(commands []string) string {
	var quoted []string
	for _, c := range commands {
		quoted = append(quoted, fmt.Sprintf("%q", short(c)))
	}
	return strings.Join(quoted, ", ")
}

// short cuts a command for a note.
func short(command string) string {
	const most = 80 // characters
	if runes := []rune(command); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return command
}
