package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chinvex/chinvex/memory"
)

// maxSubject and maxBody are how much of a message is read, in bytes: what a
// person wrote is at its top, what follows are test logs.
const (
	maxSubject = 1 << 10
	maxBody    = 16 << 10
)

// message is a commit's message in parts.
type message struct {
	title     string   // the subject without type, tracker numbers and decoration
	words     string   // the title without "[area]" and "area:", for the rules
	kind      string   // the conventional type in lower case: "feat", "fix"; "" without one
	breaking  string   // what the message says under BREAKING CHANGE
	bang      bool     // the type was followed by "!", or there is such a note
	sentences []string // of the body: without trailers, code, headings, tables, test plans
	refers    bool     // it closes an issue or names one
	reverts   string   // the commit that it reverts, in hexadecimal; "" for none
	numbers   []string // of pull requests and issues, without "#"
}

var (
	typeForm   = expression(`^([A-Za-z][A-Za-z-]{1,14})(?:\(([^)]{1,60})\))?(!)?:\s+(\S.*)$`)
	areaForm   = expression(`^(?:\[[^\]]{1,30}\]:?\s*|[\w./,*{}+-]{1,40}(?:\([^)]{1,40}\))?(!)?:\s+)`)
	numberForm = expression(`#(\d{1,7})\b`)
	trackers   = expression(`\s*[(\[](?:(?:fix(?:es)?|closes?|resolves?|refs?|gh|pr|issue|bug)[ :]*)?(?:#|gh-|![ ]?)\d+(?:[, ]+#\d+)*[)\]]`)
	breakForm  = expression(`^BREAKING[ -]CHANGES?\s*:\s*`)
	revertForm = expression(`(?i)\bthis (?:partially )?reverts commit ([0-9a-f]{7,64})\b[^.]*\.?`)
	comments   = expression(`(?s)<!--.*?(?:-->|$)`)
	trailer    = expression(`^(?:[A-Z][A-Za-z]+(?:-[A-Za-z]+)+|Cc|CC|Link|Bug|Issue|Ticket|Task|Acked|Refs?|Test|Tests|Tested|Reviewers|Differential Revision|Change-Id|changelog|Changelog|Release notes?|Assisted-by):\s`)
	reference  = expression(`(?i)^(?:[-*]\s+)?(?:(?:also|this|and|partially|part of|towards?|fix(?:es|ed)?|close[sd]?|resolve[sd]?|see|refs?|references?|related(?: to)?|follow[- ]?up (?:to|of|on)|after|reported(?:-by| in)?|addresses|supersedes|replaces|cherry[- ]picked from|original|issue|pull request|pr|bug|diff|in|of|on|to)\b[: ]*)+(?:(?:[\w.-]+/[\w.-]+)?#\d+|https?://\S+|[0-9a-f]{7,40}\b)(?:[ ,;]*(?:and|closes?|fix(?:es)?|resolves?)?\s*(?:(?:[\w.-]+/[\w.-]+)?#\d+|https?://\S+))*\s*(?:\(.*\))?[ .]*$`)
	bareLinks  = expression(`^(?:[-*]\s+)?(?:(?:#\d+|https?://\S+|\[[^\]]*\]:\s*\S+)[ ,.;]*)+$`)
	atxHeading = expression(`^#{1,6}\s+(.*?)[\s#]*$`)
	boldTitle  = expression(`^\*\*([^*]{1,40}?):?\*\*:?$`)
	label      = expression(`^(?i)(summary|description|motivation|why|what|how|background|context|problem|solution|changes|test plan|testing|tests?|test procedure|verification|impact|details|overview|fix|root cause|cause|symptoms?|result|before|after|release notes?|checklist|how verified)\s*:\s*`)
	dropped    = expression(`(?i)^(?:.*\btest|check ?list|how (?:was|it was|verified|to)|verif|screenshot|ecosystem|todo|to do|review|related|reference|link|appendix|credits|alternatives|future|follow[- ]?up|ai\b|.*\bdisclosure|pr check|before submitting|type of change|open questions|notes? (?:to|for) reviewer)`)
	bullet     = expression(`^ {0,3}([-*+•]|\d{1,2}[.)])\s+(.*)$`)
	linkForm   = expression(`!?\[([^\]]*)\]\([^)\s]*\)`)
	linkRef    = expression(`\[([^\]]+)\]\[[^\]]*\]`)
	bold       = expression(`(^|[\s(])\*\*(\S[^*\x60]*?)\*\*`)
	role       = expression(":[a-z:]+:`([^`]*)`")
	chatter    = expression(`(?i)^(?:\(|(?:we|one|you) (?:could|might|should|may)\b|ideally|eventually|hopefully|in the future|the (?:code|logic) (?:has|is|was)\b|thank|hi\b|hello|sorry|note to|prepared with|generated (?:with|by)|written (?:with|by)|assisted|this is (?:step|part|a follow|the (?:first|second|third|next)|an? (?:alternative|independent|pre-?requisite|rebase|small|minimal|foundation))|stacked on|depends on|based on (?:top|#)|follow[- ]?up|split (?:out )?(?:from|of)|see\b|ref\b|same as|as (?:discussed|mentioned|suggested|requested|described)|part of|also[, ]|for example|e\.g\.|example|more (?:info|details)|related|no functional|supersedes|replaces #|alternative to|todo|cc @|ptal|let me know|open to|the following|one such|in https?:|diff:|here's|here is|below|in (?:the|this) (?:example|case))|://|^happy to|^please|\bI(?:['’](?:m|ve|d|ll))?\b|\brefactor(?:ed|ing|s)?\b|(?:the following|as follows|for example|for instance|like this|such as|following)[:.]?$|\?$`)
	prompt     = expression(`^(?:[\w.@:~/\[\] -]{0,40}[$❯]|[>%#]) \S`)
	dangling   = expression(`(?i)\b(?:by|in|or|as|with|to|of|the|an?|and|like|via|is|are|from|for|at|on|that|e\.g|when)\W*$`)
	fragment   = expression(`^(?:can|will|is|are|was|has|or|and|but|which|that|to|then|with|for|in|of)\b`)
	gitmoji    = map[rune]string{
		'✨': "feat", '🐛': "fix", '🚑': "fix", '📝': "docs", '⬆': "deps", '⬇': "deps", '📌': "deps", '➕': "deps", '➖': "deps", '♻': "refactor",
		'🎨': "style", '✅': "test", '🧪': "test", '👷': "ci", '💚': "ci", '🔖': "release", '🌐': "docs", '👥': "docs", '🍱': "docs", '✏': "docs",
		'🔧': "chore", '🔨': "chore", '🚨': "style", '💡': "docs", '⚡': "perf", '🚚': "refactor", '🙈': "chore",
	}
)

// readMessage cuts a message into parts. It takes any bytes.
func readMessage(c memory.Commit) message {
	var m message
	subject := oneLine(comments().ReplaceAllString(c.Subject[:min(len(c.Subject), maxSubject)], ""))
	for _, n := range numberForm().FindAllStringSubmatch(subject, -1) {
		m.numbers = append(m.numbers, n[1])
	}
	subject = strings.TrimSpace(trackers().ReplaceAllString(subject, ""))
	if r, size := utf8.DecodeRuneInString(subject); unicode.Is(unicode.So, r) {
		m.kind = gitmoji[r]
		m.bang = r == '💥'
		subject = strings.TrimLeft(subject[size:], "\ufe0f\u200d ")
	}
	if t := typeForm().FindStringSubmatch(subject); t != nil && types[strings.ToLower(t[1])] {
		m.kind, m.bang = strings.ToLower(t[1]), m.bang || t[3] != ""
		if subject = t[4]; t[2] != "" && m.kind != "chore" {
			subject = t[2] + ": " + subject
		}
	}
	m.words = subject
	for range 3 { // "net: ring: fix"
		area := areaForm().FindStringSubmatch(m.words)
		if area == nil {
			break
		}
		m.bang = m.bang || area[1] != ""
		if words := strings.TrimSpace(m.words[len(area[0]):]); words != "" {
			m.words = words
		}
		if name := strings.ToLower(strings.Trim(area[0], "[]: !")); m.kind == "" && types[name] {
			m.kind = name
		}
	}
	m.title = shorten(upperFirst(strings.TrimRight(subject, " .:")), 110)

	body := c.Body[:min(len(c.Body), maxBody)]
	body = strings.ReplaceAll(strings.ToValidUTF8(body, "\uFFFD"), "\r\n", "\n")
	body = comments().ReplaceAllString(body, "")
	if r := revertForm().FindStringSubmatch(body); r != nil {
		m.reverts = strings.ToLower(r[1])
		body = revertForm().ReplaceAllString(body, "")
	}
	for _, p := range paragraphs(body, &m) {
		if note := breakForm().FindString(p.text); note != "" {
			m.breaking, m.bang = plainText(p.text[len(note):]), true
			continue
		}
		said := sentences(p.text)
		if r, _ := utf8.DecodeRuneInString(p.text); p.afterCode && unicode.IsLower(r) && len(said) > 0 {
			said = said[1:] // it goes on from before the code
		}
		if p.beforeCode && len(said) > 0 && !strings.ContainsAny(p.text[len(p.text)-1:], ".:!?)") {
			said = said[:len(said)-1]
		}
		m.sentences = append(m.sentences, said...)
	}
	return m
}

// types are the words before a colon that say what a commit is rather than
// where it is.
var types = set("feat feature fix bugfix hotfix docs doc documentation test tests testing ci style refactor refact chore build release deps dep lint perf revert security sec example examples bench benchmark site website readme changelog cleanup internal dx types typo i18n misc wip")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// paragraph is a paragraph or bullet on one line.
type paragraph struct {
	text                  string
	beforeCode, afterCode bool // next to code that was left out
}

// paragraphs returns the body's prose.
func paragraphs(body string, m *message) []paragraph {
	var (
		out   []paragraph
		code  bool     // the last that was seen is code
		now   []string // lines of the paragraph
		star  bool     // it is a bullet with an asterisk after an empty line
		fence string
		skip  bool
		blank = true
		// output is what stands below a prompt, up to an empty line.
		output bool
	)
	end := func(before string) {
		// "* subject" between empty lines is how a squash lists its commits.
		if len(now) > 0 && !(star && len(now) == 1 && before == "") {
			out = append(out, paragraph{text: strings.Join(now, " "), afterCode: code})
			code = false
		}
		now, star = nil, false
	}
	skipCode := func() {
		end("code")
		if code = true; len(out) > 0 {
			out[len(out)-1].beforeCode = true
		}
	}
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \t\n")
		text := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(text, fence) {
				fence = ""
			}
			continue
		}
		if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
			skipCode()
			fence = text[:3]
			continue
		}
		wasBlank := blank
		blank = text == ""
		for _, n := range numberForm().FindAllStringSubmatch(text, 8) {
			m.numbers = append(m.numbers, n[1])
		}
		switch {
		case blank:
			output = false
			end("")
			continue
		case strings.Trim(text, "-=_* ") == "":
			if len(now) == 1 && len(now[0]) <= 40 && strings.Trim(text, "-=") == "" { // an underlined heading
				skip = dropped().MatchString(now[0])
				now = nil
			}
			end("rule")
			continue
		case strings.HasPrefix(text, "|"), strings.HasPrefix(text, ">"), strings.HasPrefix(text, "!["), strings.HasPrefix(text, "<"):
			end("other")
			continue
		case trailer().MatchString(text), reference().MatchString(text), bareLinks().MatchString(text), strings.HasPrefix(text, "(cherry picked"):
			m.refers = m.refers || strings.Contains(text, "#") || strings.Contains(text, "://")
			end("trailer")
			continue
		}
		heading := ""
		if h := atxHeading().FindStringSubmatch(text); h != nil {
			heading = h[1]
		} else if h := boldTitle().FindStringSubmatch(text); h != nil {
			heading = h[1]
		}
		if heading != "" {
			end("heading")
			skip = dropped().MatchString(heading)
			continue
		}
		if l := label().FindString(text); l != "" && len(now) == 0 {
			skip = dropped().MatchString(l)
			if text = text[len(l):]; text == "" {
				continue
			}
		}
		if skip {
			continue
		}
		if b := bullet().FindStringSubmatch(line); b != nil {
			end("bullet")
			if !strings.HasPrefix(b[2], "[ ]") && !strings.HasPrefix(strings.ToLower(b[2]), "[x]") {
				now, star = append(now, b[2]), b[1] == "*" && wasBlank
			}
			continue
		}
		if prompt().MatchString(text) {
			skipCode()
			output = true
		}
		if wasBlank && strings.HasPrefix(line, "  ") && len(out) > 0 && strings.HasSuffix(out[len(out)-1].text, ":") && !bullet().MatchString(line) {
			skipCode()
			output = true
		}
		if output {
			continue
		}
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		if indented && len(now) == 0 {
			skipCode()
			continue
		}
		now = append(now, text)
	}
	end("")
	return out
}

// maxSentence is the length in runes above which a sentence is a listing.
const maxSentence = 400

// sentences cuts a paragraph. Greetings, references and sentences that lead to
// what was left out are not among them.
func sentences(p string) []string {
	p = plainText(p)
	var out []string
	start := 0
	add := func(end int) {
		s := strings.TrimSpace(p[start:end])
		start = end
		if n := utf8.RuneCountInString(s); n < 8 || n > maxSentence || !strings.Contains(s, " ") || chatter().MatchString(s) || fragment().MatchString(s) || dangling().MatchString(s) || strings.Count(s, "(") != strings.Count(s, ")") {
			return
		}
		if rest, ok := strings.CutSuffix(s, ":"); ok {
			if len(strings.Fields(rest)) < 6 {
				return // what stood below it is missing
			}
			s = rest + "."
		}
		if !strings.ContainsAny(s[len(s)-1:], ".!?)`\"'") {
			s += "."
		}
		out = append(out, upperFirst(s))
	}
	depth := 0
	code := false
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '`':
			code = !code
		case '(', '[':
			depth++
		case ')', ']':
			depth = max(0, depth-1)
		case '.', '!', '?', ':':
			if code || depth > 0 || i+2 >= len(p) || p[i+1] != ' ' || p[i] == ':' {
				continue
			}
			next, _ := utf8.DecodeRuneInString(p[i+2:])
			if (unicode.IsUpper(next) || strings.ContainsRune("`\"'_([*", next)) && !abbreviation(p[start:i]) {
				add(i + 1)
			}
		}
	}
	add(len(p))
	return out
}

func abbreviation(s string) bool {
	word := strings.ToLower(s[strings.LastIndexAny(s, " (")+1:])
	switch word {
	case "e.g", "i.e", "vs", "etc", "cf", "approx", "no", "fig", "resp", "al", "incl":
		return true
	}
	return len(word) == 1
}

// plainText takes links and emphasis out of Markdown and reStructuredText.
func plainText(s string) string {
	s = linkForm().ReplaceAllString(s, "$1")
	s = linkRef().ReplaceAllString(s, "$1")
	s = role().ReplaceAllString(s, "`$1`")
	s = strings.ReplaceAll(s, "``", "`")
	s = bold().ReplaceAllString(s, "$1$2")
	s = trackers().ReplaceAllString(s, "")
	return oneLine(s)
}

func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	word := s
	if i := strings.IndexAny(s, " :"); i >= 0 {
		word = s[:i]
	}
	// A name like os.Args, v-model or useFoo keeps its case.
	if !unicode.IsLower(r) || strings.ContainsAny(word, "._-/`()\"'") || strings.ToLower(word) != word || (len(word) < len(s) && s[len(word)] == ':') {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}
