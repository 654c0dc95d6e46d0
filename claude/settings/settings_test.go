package settings_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tailscale/hujson"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/claude/settings"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden is one file of testdata: what it is about, how its bytes differ from the
// text shown, what is asked for, and its sections. In a section "(as before)" stands
// for the file as it was.
type golden struct {
	t       *testing.T
	path    string
	archive *txtar.Archive
	flags   map[string]string // of the line "with: …"
	got     []txtar.File
}

const asBefore = "(as before)\n"

func eachGolden(t *testing.T, dir string, atLeast int, check func(*golden, []byte)) {
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(paths) < atLeast {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			g := &golden{t: t, path: path, archive: archive, flags: map[string]string{}}
			for line := range strings.Lines(string(archive.Comment)) {
				if flags, ok := strings.CutPrefix(line, "with: "); ok {
					for f := range strings.FieldsSeq(flags) {
						name, value, _ := strings.Cut(f, "=")
						g.flags[name] = value
					}
				}
			}
			before := archive.Files[0]
			if before.Name != "before.json" {
				t.Fatalf("the first section is %s", before.Name)
			}
			check(g, g.encode(before.Data))
			g.compare(before)
		})
	}
}

func (g *golden) has(flag string) bool { _, ok := g.flags[flag]; return ok }

// encode makes the bytes of a file from the text shown.
func (g *golden) encode(shown []byte) []byte {
	if g.has("missing") {
		return nil
	}
	b := bytes.Clone(shown)
	if g.has("unended") {
		b = bytes.TrimSuffix(b, []byte("\n"))
	}
	if g.has("crlf") {
		b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	if g.has("bom") {
		b = append([]byte("\ufeff"), b...)
	}
	if g.has("utf16") {
		wide := []byte{0xff, 0xfe}
		for _, unit := range utf16.Encode([]rune(string(b))) {
			wide = binary.LittleEndian.AppendUint16(wide, unit)
		}
		b = wide
	}
	return b
}

// file adds a section that shows a file.
func (g *golden) file(name string, data, before []byte) {
	if bytes.Equal(data, before) && !g.has("missing") {
		g.text(name, asBefore)
		return
	}
	shown := data
	if g.has("bom") {
		shown = bytes.TrimPrefix(shown, []byte("\ufeff"))
	}
	if g.has("crlf") {
		shown = bytes.ReplaceAll(shown, []byte("\r\n"), []byte("\n"))
	}
	if g.has("unended") {
		shown = append(bytes.Clone(shown), '\n')
	}
	if back := g.encode(shown); !bytes.Equal(back, data) && !g.has("missing") {
		g.t.Errorf("%s is not of the bytes that the file was of: %q", name, data)
	}
	g.text(name, string(shown))
}

func (g *golden) text(name, text string) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	g.got = append(g.got, txtar.File{Name: name, Data: []byte(text)})
}

func (g *golden) compare(before txtar.File) {
	out := txtar.Format(&txtar.Archive{Comment: g.archive.Comment, Files: append([]txtar.File{before}, g.got...)})
	if *update {
		if err := os.WriteFile(g.path, out, 0o666); err != nil {
			g.t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(txtar.Format(g.archive)), string(out)); diff != "" {
		g.t.Errorf("(-want +got)\n%s", diff)
	}
}

// call is what the golden file asks for.
func (g *golden) call() ([]claude.Entry, func(string) bool) {
	context := "shop"
	if g.has("context") {
		context = g.flags["context"]
	}
	entries := claude.Call{Context: context, Home: g.flags["home"]}.Entries()
	if g.has("startup-only") {
		entries = entries[:1]
	}
	return entries, func(context string) bool { return context == g.flags["other"] }
}

// Settings files as they are found, before and after.
func TestInstall(t *testing.T) {
	eachGolden(t, "install", 45, func(g *golden, before []byte) {
		entries, other := g.call()
		kept := bytes.Clone(before)
		c, err := settings.Install(before, entries, other)
		if !bytes.Equal(kept, before) {
			g.t.Error("the old bytes were written to")
		}
		if err != nil {
			g.text("error", err.Error())
			return
		}
		g.file("after.json", c.Bytes, before)
		g.text("notes", strings.Join(append(c.Notes, c.Warnings...), "\n"))
		again, err := settings.Install(c.Bytes, entries, other)
		if err != nil || !bytes.Equal(again.Bytes, c.Bytes) {
			g.t.Errorf("a second run: %v\n%s", err, again.Bytes)
		}
		u, removed, empty, err := settings.Uninstall(c.Bytes)
		if err != nil {
			g.t.Fatal(err)
		}
		g.file("uninstalled.json", u.Bytes, before)
		notes := append(u.Notes, fmt.Sprintf("removed %d, empty %t", removed, empty))
		g.text("uninstall notes", strings.Join(notes, "\n"))
		if left, err := settings.Installed(u.Bytes); err != nil || len(left) > 0 {
			g.t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// Files of servers, before and after.
func TestServer(t *testing.T) {
	eachGolden(t, "server", 8, func(g *golden, before []byte) {
		var args []string
		if g.has("home") {
			args = []string{"--home", g.flags["home"]}
		}
		c, err := settings.InstallServer(before, args)
		if err != nil {
			g.text("error", err.Error())
			return
		}
		g.file("after.json", c.Bytes, before)
		g.text("notes", strings.Join(append(c.Notes, c.Warnings...), "\n"))
		again, err := settings.InstallServer(c.Bytes, args)
		if err != nil || !bytes.Equal(again.Bytes, c.Bytes) {
			g.t.Errorf("a second run: %v\n%s", err, again.Bytes)
		}
		if in, err := settings.InstalledServer(c.Bytes); err != nil || !in {
			g.t.Errorf("installed: %t, %v", in, err)
		}
		u, removed, empty, err := settings.UninstallServer(c.Bytes)
		if err != nil {
			g.t.Fatal(err)
		}
		g.file("uninstalled.json", u.Bytes, before)
		g.text("uninstall notes", fmt.Sprintf("removed %t, empty %t", removed, empty))
	})
}

// What is installed in a new file is hooks.example.json.
func TestNewFileIsTheExample(t *testing.T) {
	c, err := settings.Install(nil, claude.Call{}.Entries(), nil)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../hooks.example.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, example), decode(t, c.Bytes)); diff != "" {
		t.Errorf("(-example +installed)\n%s", diff)
	}
	installed, err := settings.Installed(c.Bytes)
	if diff := cmp.Diff(claude.Call{}.Entries(), installed); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// After a colleague's edit ours alone goes, and what they wrote stays.
func TestUninstallAfterEdits(t *testing.T) {
	fresh, err := settings.Install([]byte("{\n  \"model\": \"opus\"\n}\n"), claude.Call{Context: "shop"}.Entries()[:1], nil)
	if err != nil {
		t.Fatal(err)
	}
	installed := string(fresh.Bytes)
	for _, c := range []struct{ name, old, new, want string }{
		{"a key after ours", "\n}\n", ",\n  \"env\": {}\n}\n", "{\n  \"model\": \"opus\",\n  \"env\": {}\n}\n"},
		{"a hook beside ours", "\n          }\n", "\n          },\n          { \"type\": \"command\", \"command\": \"date\" }\n",
			"{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"date\" }\n        ]\n      }\n    ]\n  }\n}\n"},
		{"an event after ours", "\n    ]\n", "\n    ],\n    \"Stop\": []\n", "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n"},
		{"a comment in the event", "\n    ]\n", "\n      // none yet\n    ]\n", "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"SessionStart\": [\n      // none yet\n    ]\n  }\n}\n"},
		{"a comment above ours", "\n  \"hooks\"", "\n  // hooks\n  \"hooks\"", "{\n  \"model\": \"opus\"\n  // hooks\n}\n"},
		{"a key in our group", "\n        \"hooks\": [", "\n        \"note\": \"why\",\n        \"hooks\": [",
			"{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"note\": \"why\",\n        \"hooks\": []\n      }\n    ]\n  }\n}\n"},
	} {
		edited := strings.Replace(installed, c.old, c.new, 1)
		if edited == installed {
			t.Errorf("%s: no edit", c.name)
		}
		u, removed, _, err := settings.Uninstall([]byte(edited))
		if err != nil || removed != 1 || string(u.Bytes) != c.want {
			t.Errorf("%s: removed %d, %v\n%s\nwant\n%s", c.name, removed, err, u.Bytes, c.want)
		}
	}
}

// Uninstall is lenient: a file that Install refuses keeps nothing of ours.
func TestUninstallIsLenient(t *testing.T) {
	const ours = `{"hooks":[{"type":"command","command":"chinvex-hook"}]}`
	for in, want := range map[string]string{
		`{"hooks":{"Stop":["odd",` + ours + `]}}`:                             `{"hooks":{"Stop":["odd"]}}`,
		`{"hooks":{"Stop":[` + ours + `]},"hooks":{"Stop":[` + ours + `,1]}}`: `{"hooks":{"Stop":[1]}}`,
		`{"hooks":{"startup":"chinvex brief"}}`:                               `{}`,
		`{"hooks":{"startup":["date","chinvex brief"]}}`:                      `{"hooks":{"startup":["date"]}}`,
		`{"hooks":{"startup":[{"command":"chinvex brief"}],"Stop":[]}}`:       `{"hooks":{"Stop":[]}}`,
		`{"hooks":[]}`: `{"hooks":[]}`,
		``:             ``,
	} {
		u, _, _, err := settings.Uninstall([]byte(in))
		if err != nil || string(u.Bytes) != want {
			t.Errorf("%s: %s, %v; want %s", in, u.Bytes, err, want)
		}
	}
}

func TestRecognise(t *testing.T) {
	type own = settings.Own
	for command, want := range map[string]own{
		"chinvex-hook":                                                {},
		"chinvex-hook 2>/dev/null || true":                            {},
		"chinvex-hook >/dev/null 2>&1 || :":                           {},
		"chinvex-hook &>/dev/null;":                                   {},
		"chinvex-hook 2>/dev/null || true # of chinvex":               {},
		"chinvex-hook \\\n  2>/dev/null \\\n  || true\n":              {},
		"'/opt/my tools/chinvex-hook' || true":                        {},
		`"$HOME"/bin/chinvex-hook || true`:                            {},
		`"C:\Tools\chinvex-hook.exe"`:                                 {},
		"exec chinvex hook PostToolUse":                               {},
		"command chinvex --home /h hook":                              {Home: "/h"},
		"chinvex-hook --home='/srv/a b'":                              {Home: "/srv/a b"},
		"chinvex brief":                                               {Brief: true},
		`chinvex brief --context 'Ann'\''s shop' 2>/dev/null || true`: {Brief: true, Context: "Ann's shop"},
		"chinvex brief --context=shop":                                {Brief: true, Context: "shop"},
		"chinvex --context shop brief --plugin":                       {Brief: true, Context: "shop", Plugin: true},
		"chinvex brief --home /h --context shop":                      {Brief: true, Context: "shop", Home: "/h"},
		"chinvex brief 2>/dev/null --context shop || true":            {Brief: true, Context: "shop"},
		"chinvex brief --context shop --budget 800 || true":           {Brief: true, Context: "shop", Tuned: true},
		"CHINVEX_HOME=/h chinvex brief":                               {Brief: true, Tuned: true},
		`"C:\Tools\new\chinvex-hook.exe"`:                             {},
		`\chinvex-hook --home "/a\"b"`:                                {Home: `/a"b`},
		"env A=1 B=2 chinvex-hook":                                    {Tuned: true},
		"chinvex brief --context":                                     {Brief: true},
	} {
		if got, ok := settings.Recognise(command); !ok || got != want {
			t.Errorf("%s: %+v, %t; want %+v", command, got, ok, want)
		}
	}
	for command, want := range map[string]own{
		"chinvex brief && mytool":                     {Brief: true, Composed: true},
		"chinvex brief | tee /tmp/brief":              {Brief: true, Composed: true},
		"chinvex brief || echo none":                  {Brief: true, Composed: true},
		"chinvex brief\nmytool":                       {Brief: true, Composed: true},
		"chinvex brief # don't\nmytool":               {Brief: true, Composed: true},
		"mytool; chinvex-hook || true":                {Composed: true},
		"tee /tmp/e | chinvex-hook":                   {Composed: true},
		"timeout 5 chinvex-hook":                      {Composed: true},
		"chinvex-hook &":                              {Composed: true},
		"chinvex-hook <<EOF\n{}\nEOF":                 {Composed: true},
		"(cd src && chinvex-hook)":                    {Composed: true},
		"[ -x bin/chinvex ] && bin/chinvex brief":     {Brief: true, Composed: true},
		"if true; then chinvex brief; fi":             {Brief: true, Composed: true},
		"chinvex-hook " + strings.Repeat("x", 10_000): {Composed: true},
		"":                                {},
		"chinvex":                         {},
		"chinvex hooks install":           {},
		"chinvex search brief":            {},
		"chinvex-hooks":                   {},
		"mychinvex-hook":                  {},
		"echo chinvex-hook":               {},
		"prettier --write 'chinvex brief": {Brief: true, Composed: true}, // not closed: cannot be told
	} {
		if got, ok := settings.Recognise(command); ok || got != want {
			t.Errorf("%s: %+v, %t; want %+v", command, got, ok, want)
		}
	}
	for _, call := range []claude.Call{{}, {Context: "Ann's shop", Home: "/srv/state\ndir"}, {Context: `a"b\c$d`, Plugin: true}, {Context: "# | && ;"}} {
		for _, e := range call.Entries() {
			own, ok := settings.Recognise(e.Command)
			if !ok || own.Tuned || own.Home != call.Home || own.Brief && (own.Context != call.Context || own.Plugin != call.Plugin) {
				t.Errorf("%s: %+v, %t", e.Command, own, ok)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\": \"\xff\"}": "not valid UTF-8",
		"{\r\"a\": 1}":      "bare carriage returns",
		"{\"a\":" + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}":   "nested deeper than 256 levels",
		"/* \" */" + strings.Repeat("[", 1<<20-100):                             "nested deeper than 256 levels",
		strings.Repeat(" ", 1<<20) + "{}":                                       "longer than 1048576 bytes",
		`{"hooks":{"SessionStart":[{"matcher":"a","matcher":"b","hooks":[]}]}}`: "has a key twice",
		`{"hooks":{"startup":"a","startup":"b"}}`:                               "startup twice",
		`{"hooks":{"startup":3}}`:                                               "a number",
		`{"hooks":{"startup":[{"run":"x"}]}}`:                                   "an object that is no hook",
		"{\"hooks\":{\"startup\":[\"a\", // why\n\"b\"]}}":                      "holds comments",
	} {
		if _, err := settings.Install([]byte(in), claude.Call{}.Entries(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", in, err, want)
		}
	}
	if _, err := settings.Install(nil, []claude.Entry{{Event: "Stop", Command: "date"}}, nil); err == nil {
		t.Error("an entry that is not ours was installed")
	}
}

func decode(t testing.TB, data []byte) map[string]any {
	t.Helper()
	v, err := hujson.Parse(bytes.Clone(bytes.TrimPrefix(data, []byte("\ufeff")))) // Standardize writes to it
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	v.Standardize()
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(v.Pack()))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return m
}

// repeats tells whether an object has a key twice, so that decoding loses values.
func repeats(t testing.TB, data []byte) bool {
	v, err := hujson.Parse(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		t.Fatal(err)
	}
	for v := range v.All() {
		if obj, ok := v.Value.(*hujson.Object); ok {
			names := map[string]bool{}
			for _, m := range obj.Members {
				names[m.Name.Value.(hujson.Literal).String()] = true
			}
			if len(names) < len(obj.Members) {
				return true
			}
		}
	}
	return false
}

// foreign is what in a settings file is not ours: without our hooks, and without the
// groups and events that hold nothing.
func foreign(m map[string]any) map[string]any {
	hooks, ok := m["hooks"].(map[string]any)
	if !ok {
		return m
	}
	for event, v := range hooks {
		groups, ok := v.([]any)
		if !ok {
			continue
		}
		var kept []any
		for _, g := range groups {
			group, ok := g.(map[string]any)
			list, isList := group["hooks"].([]any)
			if !ok || !isList {
				kept = append(kept, g)
				continue
			}
			var others []any
			for _, h := range list {
				hook, _ := h.(map[string]any)
				command, _ := hook["command"].(string)
				if _, ours := settings.Recognise(command); !ours && hook["args"] == nil {
					others = append(others, h)
				}
			}
			if group["hooks"] = others; len(others) > 0 {
				kept = append(kept, g)
			}
		}
		if hooks[event] = kept; len(kept) == 0 {
			delete(hooks, event)
		}
	}
	if len(hooks) == 0 {
		delete(m, "hooks")
	}
	return m
}

func seeds(f *testing.F, dir string) {
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".json") {
				f.Add(file.Data)
				f.Add(bytes.ReplaceAll(bytes.TrimSpace(file.Data), []byte("\n"), []byte("\r\n")))
			}
		}
	}
}

func FuzzInstall(f *testing.F) {
	seeds(f, "install")
	all := claude.Call{Context: "shop"}.Entries()
	fewer := claude.Call{Context: "barn", Home: "/h"}.Entries()[:1]
	f.Fuzz(func(t *testing.T, x []byte) {
		had, err := settings.Installed(x)
		ours := err != nil || len(had) > 0
		if _, _, _, err2 := settings.Uninstall(x); (err == nil) != (err2 == nil) {
			t.Fatalf("Installed: %v, Uninstall: %v", err, err2)
		}
		c, err := settings.Install(x, all, nil)
		if err != nil {
			return
		}
		again, err := settings.Install(c.Bytes, all, nil)
		if err != nil || !bytes.Equal(again.Bytes, c.Bytes) {
			t.Fatalf("a second run: %v\nonce  %q\ntwice %q", err, c.Bytes, again.Bytes)
		}
		blank := len(bytes.TrimSpace(bytes.TrimPrefix(x, []byte("\ufeff")))) == 0
		startup := blank
		if !blank && !repeats(t, x) {
			before, after := decode(t, x), decode(t, c.Bytes)
			if hooks, ok := before["hooks"].(map[string]any); ok {
				_, startup = hooks["startup"]
			}
			if !startup && !reflect.DeepEqual(foreign(before), foreign(after)) {
				t.Fatalf("foreign values changed\nbefore %q\nafter  %q", x, c.Bytes)
			}
		}
		u, _, _, err := settings.Uninstall(c.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !ours && !startup && !bytes.Equal(u.Bytes, x) {
			t.Fatalf("not restored\nbefore %q\nafter  %q\nthen   %q", x, c.Bytes, u.Bytes)
		}
		// From one installation to another: nothing of the first stays.
		other, err := settings.Install(c.Bytes, fewer, nil)
		if err != nil {
			t.Fatal(err)
		}
		u, _, _, err = settings.Uninstall(other.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !ours && !startup && !bytes.Equal(u.Bytes, x) {
			t.Fatalf("not restored after a change\nbefore %q\nafter  %q\nthen   %q", x, other.Bytes, u.Bytes)
		}
	})
}

func FuzzServer(f *testing.F) {
	seeds(f, "server")
	f.Fuzz(func(t *testing.T, x []byte) {
		had, err := settings.InstalledServer(x)
		ours := err != nil || had
		c, err := settings.InstallServer(x, []string{"--home", "/h"})
		if err != nil {
			return
		}
		again, err := settings.InstallServer(c.Bytes, []string{"--home", "/h"})
		if err != nil || !bytes.Equal(again.Bytes, c.Bytes) {
			t.Fatalf("a second run: %v\nonce  %q\ntwice %q", err, c.Bytes, again.Bytes)
		}
		decode(t, c.Bytes)
		u, removed, _, err := settings.UninstallServer(c.Bytes)
		if err != nil || !removed {
			t.Fatalf("removed %t, %v", removed, err)
		}
		if blank := len(bytes.TrimSpace(bytes.TrimPrefix(x, []byte("\ufeff")))) == 0; !ours && !blank && !bytes.Equal(u.Bytes, x) {
			t.Fatalf("not restored\nbefore %q\nafter  %q\nthen   %q", x, c.Bytes, u.Bytes)
		}
	})
}

func FuzzRecognise(f *testing.F) {
	for _, s := range []string{"chinvex-hook 2>/dev/null || true", "chinvex brief --context 'a' && b", "a\\", "#\n`", "\xff;<<x", "chinvex brief 2>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		own, ok := settings.Recognise(command)
		if ok && own.Composed {
			t.Errorf("%q is ours and the user's", command)
		}
		if ok && !strings.HasSuffix(command, `\`) {
			if _, still := settings.Recognise(command + "\nmytool"); still {
				t.Errorf("%q is ours with another command behind it", command)
			}
		}
	})
}

// Whatever stands between the words of a file, installing twice is installing once and
// uninstalling gives its bytes back.
func TestRestoresAnyLayout(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	var gap func() string
	layouts := []func() string{
		func() string { return "" },
		func() string { return pick("", " ") },
		func() string { return pick("\n", "\n  ", "\n\t\t", " ") },
		func() string { return pick("", "\r\n", "\r\n    ", "\n\n ", " ", "\t") },
		func() string { return pick("", " ", "\n  ", "/* a */", " // b\n", "\r\n// c\r\n  ", "/**/ // d\n\n") },
	}
	listOf := func(brackets string, atMost int, item func() string) string {
		var b strings.Builder
		b.WriteByte(brackets[0])
		n := rng.IntN(atMost + 1)
		for i := range n {
			b.WriteString(gap() + item() + gap())
			if i < n-1 || rng.IntN(8) == 0 {
				b.WriteByte(',')
			}
		}
		b.WriteString(gap() + brackets[1:])
		return b.String()
	}
	hook := func() string {
		return `{` + gap() + `"type":` + gap() + `"command",` + gap() + `"command":"` + pick("date", "chinvex-mcp", "echo {") + `"` + gap() + `}`
	}
	group := func() string {
		return `{` + pick("", `"matcher":"Edit",`) + gap() + `"hooks"` + gap() + `:` + listOf("[]", 2, hook) + gap() + `}`
	}
	for range 3_000 {
		gap = layouts[rng.IntN(len(layouts))]
		used := map[string]bool{}
		member := func(names ...string) func() string {
			return func() string {
				name := pick(names...)
				for used[name] {
					name += "x"
				}
				used[name] = true
				key := `"` + name + `"` + gap() + `:` + gap()
				switch name {
				case "hooks":
					return key + "HOOKS"
				case "SessionStart", "PostToolUse", "SessionEnd", "Stop":
					return key + listOf("[]", 2, group)
				}
				return key + pick(`1`, `"é\u00e9"`, `[]`, `{}`, `{"a":[1,2]}`)
			}
		}
		x := gap() + listOf("{}", 3, member("hooks", "model", "env")) + gap()
		x = pick("", "\ufeff") + strings.Replace(x, "HOOKS", listOf("{}", 3, member("SessionStart", "PostToolUse", "SessionEnd", "Stop")), 1)
		for _, entries := range [][]claude.Entry{claude.Call{}.Entries(), claude.Call{Context: "shop"}.Entries()[:1]} {
			c, err := settings.Install([]byte(x), entries, nil)
			if err != nil {
				t.Fatalf("%v\n%q", err, x)
			}
			again, err := settings.Install(c.Bytes, entries, nil)
			if err != nil || !bytes.Equal(again.Bytes, c.Bytes) {
				t.Fatalf("a second run: %v\nonce  %q\ntwice %q", err, c.Bytes, again.Bytes)
			}
			u, removed, _, err := settings.Uninstall(c.Bytes)
			if err != nil || removed != len(entries) || string(u.Bytes) != x {
				t.Fatalf("removed %d, %v\nbefore %q\nafter  %q\nthen   %q", removed, err, x, c.Bytes, u.Bytes)
			}
		}
	}
}
