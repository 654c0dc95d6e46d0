package memory

import (
	"strings"
	"testing"
)

func TestCheckChange(t *testing.T) {
	const (
		rules   = "## Rules\n- a\n  - nested\n- b\n- c\n"
		history = "## Superseded\n- (Superseded 2026-01-01) x — y\n"
		entries = "## Recent (last 30 days)\n- r\n\n## 2026-02\n### 2026-02-02 — Two\n- **Why:** w\n\n### 2026-02-01 — One\n- **Why:** w\n\n## Notes\n- kept\n"
	)
	for _, tc := range []struct {
		name     string
		kind     Kind
		old, new string
		want     string // of the problems; "" for none
	}{
		{"same", Constraints, rules + history, rules + history, ""},
		{"other line ends", Constraints, rules + history, strings.ReplaceAll(rules+"\n"+history, "\n", "\r\n"), ""},
		{"added", Constraints, rules, "## Rules\n- new\n- a\n  - nested\n- b\n- new\n- c\n- new\n", ""},
		{"another order", Constraints, rules, "## Rules\n- c\n- b\n- a\n  - nested\n", ""},
		{"another section", Constraints, rules, "## Rules\n- a\n  - nested\n## Hazards\n- b\n- c\n", ""},
		{"indented", Constraints, rules, "## Rules\n  - a\n    - nested\n  - b\n  - c\n", ""},
		{"prose changed", Constraints, "Prose\n" + rules, "Other prose\n" + rules, ""},
		{"edited", Constraints, rules, "## Rules\n- a\n  - nested\n- B (updated 2026-02-06)\n- c\n", ""},
		{"edited and added", Constraints, rules, "## Rules\n- A (updated 2026-02-06)\n  - nested\n- b\n- C (updated 2026-02-06)\n- d\n", ""},
		{"edited without a date", Constraints, rules, "## Rules\n- a\n  - nested\n- B\n- c\n", `"b" is lost`},
		{"edited elsewhere", Constraints, rules, "## Rules\n- a\n  - nested\n- c\n- B (updated 2026-02-06)\n", `"b" is lost`},
		{"edited in another section", Constraints, rules, "## Rules\n- a\n  - nested\n- c\n## Hazards\n- B (updated 2026-02-06)\n", `"b" is lost`},
		{"edited twice for one", Constraints, rules, "## Rules\n- a\n  - nested\n- B (updated 2026-02-06)\n", `"c" is lost`},
		{"deleted", Constraints, rules, "## Rules\n- a\n  - nested\n- c\n", `"b" is lost`},
		{"deleted of two", Constraints, "- a\n- a\n", "- a\n", `"a" is lost`},
		{"nested lines lost", Constraints, rules, "## Rules\n- a\n- b\n- c\n", `"a" is lost`},
		{"nested lines lost in an edit", Constraints, rules, "## Rules\n- A (updated 2026-02-06)\n- b\n- c\n", `"a" is lost`},
		{"superseded", Constraints, rules + history, "## Rules\n- a\n  - nested\n- c\n" + history + "- (Superseded 2026-02-06) b — why not\n", ""},
		{"superseded with what is nested", Constraints, rules, "## Rules\n- b\n- c\n## Superseded\n- (Superseded 2026-02-06) a — why not\n  - nested\n", ""},
		{"superseded without it", Constraints, rules, "## Rules\n- b\n- c\n## Superseded\n- (Superseded 2026-02-06) a — why not\n", `"a" is lost`},
		{"superseded without a reason", Constraints, rules, "## Rules\n- a\n  - nested\n- c\n## Superseded\n- (Superseded 2026-02-06) b —\n", `"b" is lost`},
		{"superseded without a date", Constraints, rules, "## Rules\n- a\n  - nested\n- c\n## Superseded\n- b — why not\n", `"b" is lost`},
		{"superseded in place", Constraints, rules, "## Rules\n- a\n  - nested\n- (Superseded 2026-02-06) b — why not\n- c\n", `"b" is lost`},
		{"one for two", Constraints, "## Rules\n- a\n## Hazards\n- a\n", "## Superseded\n- (Superseded 2026-02-06) a — b\n", `"a" is lost`},
		{"history changed", Constraints, history, "## Superseded\n- (Superseded 2026-01-01) x — z (updated 2026-02-06)\n", `"(Superseded 2026-01-01) x — y" is lost`},
		{"history called true", Constraints, history, "## Rules\n- (Superseded 2026-01-01) x — y\n", "is lost"},
		{"a bullet hidden", Constraints, rules, "## Rules\n- a\n  - nested\n<!--\n- b\n-->\n- c\n", `"b" is lost`},

		{"same entries", Decisions, entries, strings.ReplaceAll(entries, "- r\n", "- other\n- roll-up\n"), ""},
		{"entry added", Decisions, entries, strings.Replace(entries, "### 2026-02-02", "### 2026-02-03 — Three\n- **Why:** w\n\n### 2026-02-02", 1), ""},
		{"entry lost", Decisions, entries, strings.Replace(entries, "### 2026-02-01 — One\n- **Why:** w\n\n", "", 1), `the entry "2026-02-01 — One" is lost`},
		{"entry changed", Decisions, entries, strings.Replace(entries, "One\n- **Why:** w", "One\n- **Why:** v", 1), `the entry "2026-02-01 — One" was changed`},
		{"entry longer", Decisions, entries, strings.Replace(entries, "\n\n## Notes", "\n- **Impact:** i\n\n## Notes", 1), `the entry "2026-02-01 — One" was changed`},
		{"title changed", Decisions, entries, strings.Replace(entries, "One", "First", 1), `the entry "2026-02-01 — One" is lost`},
		{"note lost", Decisions, entries, strings.Replace(entries, "- kept\n", "", 1), `Notes, the bullet "kept" is lost`},

		{"state rewritten", State, "# State\n- a\n", "# State\n", ""},
		{"anchor lost", State, "# State\n<!-- chinvex:last-commit:1234567 -->\n", "# State\n", "the coverage anchor is gone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := func(text string) Files {
				d := Parse(tc.kind, []byte(text))
				return []Files{{State: d}, {Constraints: d}, {Decisions: d}}[tc.kind]
			}
			problems := CheckChange(files(tc.old), files(tc.new))
			switch {
			case tc.want == "" && len(problems) > 0:
				t.Errorf("problems %v", problems)
			case tc.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].String(), tc.want)):
				t.Errorf("problems %v, want one with %q", problems, tc.want)
			}
			if gone := CheckChange(files(tc.old), Files{}); len(gone) != 1 || !strings.Contains(gone[0].What, "is gone") {
				t.Errorf("without the file: %v", gone)
			}
			if made := CheckChange(Files{}, files(tc.new)); made != nil {
				t.Errorf("of a new file: %v", made)
			}
		})
	}
}
