package parse

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPrompt   = 64 << 10 // bytes of a prompt that are read
	maxQuery    = 2_000    // bytes of the query that a prompt becomes
	maxMentions = 50       // of each kind
)

// fillers are the words that a prompt may consist of without being about any
// code.
const fillers = " a an the and or but so to of in on for with it its this that these those is are was be been do does did done can could will would should may i you we me my your our us them he she they " +
	"yes yep yeah no nope not ok okay sure fine good great nice perfect thanks thank thx please pls go ahead continue proceed next again now then start stop wait done right correct exactly agreed lgtm " +
	"try retry try-again keep going carry on more yes-please what why how when where who hello hi hey bye cool awesome well done all just also too let's lets "

// PromptQuery turns a prompt into the text to search for. ok is false when there
// is nothing to search: slash commands, notices that the client sends as prompts,
// one-word answers, and text of filler words only. A long prompt is cut to 2,000
// bytes, its beginning and the paths and identifiers of the rest.
func PromptQuery(prompt string) (query string, ok bool) {
	if len(prompt) > maxPrompt {
		prompt = prompt[:maxPrompt]
	}
	prompt = strings.TrimSpace(strings.ToValidUTF8(prompt, " "))
	if prompt == "" || isSlashCommand(prompt) || isNotice(prompt) {
		return "", false
	}
	paths, names := Mentions(prompt)
	content, all := 0, 0
	for _, word := range strings.FieldsFunc(prompt, func(r rune) bool { return !isNameRune(r) && r != '\'' }) {
		all++
		if !strings.Contains(fillers, " "+strings.ToLower(word)+" ") && strings.ContainsFunc(word, unicode.IsLetter) && utf8.RuneCountInString(word) > 1 {
			content++
		}
	}
	if len(paths)+len(names) == 0 && (content == 0 || all == 1 && isASCII(prompt)) {
		return "", false
	}
	if len(prompt) <= maxQuery {
		return prompt, true
	}
	cut := maxQuery / 2
	for !utf8.RuneStart(prompt[cut]) {
		cut--
	}
	if space := strings.LastIndexFunc(prompt[:cut], unicode.IsSpace); space > cut/2 {
		cut = space
	}
	query = prompt[:cut]
	for _, mention := range append(paths, names...) {
		if len(query)+1+len(mention) <= maxQuery && !strings.Contains(query, mention) {
			query += " " + mention
		}
	}
	return query, true
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

// isSlashCommand tells /review and /plugin:name from a path.
func isSlashCommand(prompt string) bool {
	rest, ok := strings.CutPrefix(prompt, "/")
	if end := strings.IndexFunc(rest, unicode.IsSpace); end >= 0 {
		rest = rest[:end]
	}
	return ok && !strings.ContainsAny(rest, "/.")
}

// isNotice tells what the client sends in the person's place.
func isNotice(prompt string) bool {
	for _, tag := range []string{"<task-notification>", "<local-command", "<command-", "<system-reminder>", "<bash-"} {
		if strings.HasPrefix(prompt, tag) {
			return true
		}
	}
	return false
}

// Mentions finds what in a text names a file (paths, names with an extension) or
// a piece of code (snake_case, camelCase, a::b, f(), anything in backticks that is
// one name), each once, in order of appearance, at most 50 of each.
func Mentions(text string) (paths, identifiers []string) {
	if len(text) > maxPrompt {
		text = strings.ToValidUTF8(text[:maxPrompt], "")
	}
	add := func(list *[]string, mention string) {
		if len(*list) < maxMentions && !slices.Contains(*list, mention) {
			*list = append(*list, mention)
		}
	}
	for i, part := range strings.Split(text, "`") {
		quoted := i%2 == 1
		for _, token := range strings.FieldsFunc(part, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"'<>[]{}|,;=“”‘’", r)
		}) {
			called := strings.HasSuffix(strings.TrimRight(token, ".!?"), "()")
			token = strings.Trim(token, ".!?()")
			if at := strings.IndexByte(token, '('); at > 0 { // f(x)
				token, called = token[:at], true
			}
			token = strings.TrimPrefix(token, "@")
			place := token
			if l, ok := pathAndLine(token); ok {
				place = l.Path
			}
			switch {
			case strings.Contains(token, "://"):
			case isPath(place) && (hasExtension(place) || strings.Count(place, "/") > 1 || quoted && strings.Contains(place, "/")) && !isMember(place):
				add(&paths, place)
			case isCode(token) || (quoted || called) && isName(token):
				add(&identifiers, token)
			}
		}
	}
	return paths, identifiers
}

// isMember tells Class.method and "e.g." from a file's name: no known extension
// is written with capital letters or is that long.
func isMember(token string) bool {
	if strings.Contains(token, "/") {
		return false
	}
	dot := strings.LastIndexByte(token, '.')
	ext := token[dot+1:]
	return len(token) == 3 || len(ext) > 5 || strings.ToLower(ext) != ext
}

// isName tells whether a token is one identifier, possibly qualified.
func isName(token string) bool {
	letters := 0
	for _, r := range token {
		if !isNameRune(r) && r != '.' && r != ':' && r != '$' && r != '#' && r != '-' && r != '>' {
			return false
		}
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 2
}

// isCode tells whether a token can only be a piece of code: an underscore or a
// change to upper case inside, or a qualified name.
func isCode(token string) bool {
	if !isName(token) || strings.HasSuffix(token, ":") || strings.HasPrefix(token, ":") || strings.HasPrefix(token, "-") {
		return false
	}
	if strings.Contains(token, "::") || strings.Contains(strings.Trim(token, "_"), "_") {
		return true
	}
	lower, parts := false, 0
	for _, r := range token {
		if unicode.IsUpper(r) && lower {
			return true
		}
		lower = unicode.IsLower(r)
		if r == '.' {
			parts++
		}
	}
	return parts > 0 && len(token) > 3 && isMember(token)
}
