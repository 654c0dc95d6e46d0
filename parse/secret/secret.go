// Package secret replaces keys, tokens and private keys in a text by markers,
// so that none of them is ever stored.
//
// The rules are gitleaks' own: keywords, regular expressions, entropy limits,
// allow lists. Its detector runs every expression over the whole file, 3 MB/s
// on source code; here a keyword must be found first and the expression sees
// only what surrounds it.
package secret

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// Redact returns text with every secret replaced by a marker such as
// [secret:github-pat], and how many there were. A secret of several lines
// becomes the marker and empty lines, so that line numbers stay right. When
// nothing is found the result is text itself. path, slash-separated, decides
// which rules hold: lock files and vendored code, for example, are not
// searched. Redacting twice changes nothing more. Safe for concurrent use.
func Redact(path string, text []byte) (redacted []byte, found int) {
	set := loadRules()
	if set.allowed.pathAllowed(path) {
		return text, 0
	}
	// A replaced secret can uncover one that overlapped with it. Each pass
	// removes at least one byte that is no marker's, so the passes end.
	for {
		secrets := set.find(path, text)
		if len(secrets) == 0 {
			return text, found
		}
		found += len(secrets)
		text = replace(text, secrets)
	}
}

// span is a secret's place in the text.
type span struct {
	start, end int
	rule       *rule
}

const markerStart = "[secret:"

func replace(text []byte, secrets []span) []byte {
	out := make([]byte, 0, len(text)+len(secrets)*32)
	last := 0
	for _, s := range secrets {
		out = append(out, text[last:s.start]...)
		out = append(append(append(out, markerStart...), s.rule.ID...), ']')
		for range bytes.Count(text[s.start:s.end], []byte("\n")) {
			out = append(out, '\n')
		}
		last = s.end
	}
	return append(out, text[last:]...)
}

// rule is one of gitleaks' rules.
type rule struct {
	ID          string
	Regex       string
	Path        string
	SecretGroup int
	Entropy     float64 // bits a byte that a secret must exceed; 0: no limit
	Keywords    []string
	Allowlists  []*allowlist

	shape   shape
	compile sync.Once
	regex   *regexp.Regexp
	path    *regexp.Regexp
}

func (r *rule) load() {
	r.compile.Do(func() {
		r.regex = regexp.MustCompile(r.Regex)
		if r.Path != "" {
			r.path = regexp.MustCompile(r.Path)
		}
	})
}

// allowlist names what looks like a secret and is none.
type allowlist struct {
	Condition   string // "AND": all of its checks, else any
	Paths       []string
	RegexTarget string // what Regexes are matched with: "match", "line", or the secret
	Regexes     []string
	Stopwords   []string // parts of a secret, lower-case

	compile sync.Once
	paths   []*regexp.Regexp
	regexes []*regexp.Regexp
}

func (a *allowlist) load() {
	a.compile.Do(func() {
		for _, p := range a.Paths {
			a.paths = append(a.paths, regexp.MustCompile(p))
		}
		for _, p := range a.Regexes {
			a.regexes = append(a.regexes, regexp.MustCompile(p))
		}
	})
}

func (a *allowlist) pathAllowed(path string) bool {
	a.load()
	return slices.ContainsFunc(a.paths, func(re *regexp.Regexp) bool { return re.MatchString(path) })
}

func (a *allowlist) allows(path string, secret, match, line []byte) bool {
	a.load()
	target := secret
	switch a.RegexTarget {
	case "match":
		target = match
	case "line":
		target = line
	}
	var checks []bool
	if len(a.Paths) > 0 && a.Condition == "AND" {
		checks = append(checks, a.pathAllowed(path))
	}
	if len(a.regexes) > 0 {
		checks = append(checks, slices.ContainsFunc(a.regexes, func(re *regexp.Regexp) bool { return re.Match(target) }))
	}
	if len(a.Stopwords) > 0 {
		lower := bytes.ToLower(secret)
		checks = append(checks, slices.ContainsFunc(a.Stopwords, func(word string) bool { return bytes.Contains(lower, []byte(word)) }))
	}
	if a.Condition == "AND" {
		return len(checks) > 0 && !slices.Contains(checks, false)
	}
	return slices.Contains(checks, true)
}

// shape says what must surround a keyword for the rule's expression to be worth running.
type shape int

const (
	// assignment: the keyword is part of a name to which a value is given.
	assignment shape = iota
	// token: the keyword, of 2 to 4 bytes, is part of the secret.
	token
	// oneLine: the secret is in the keyword's line.
	oneLine
	// block: the secret may begin lines after the keyword.
	block
	// privateKey: a block that begins with the keyword.
	privateKey
)

// assigns is what the expressions of rules for assigned values have in common.
const assigns = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`

func (r *rule) shapeOf() shape {
	switch {
	case r.ID == "private-key":
		return privateKey
	case strings.Contains(r.Regex, assigns):
		return assignment
	case strings.Contains(r.Regex, `.*`), strings.Contains(r.Regex, `(?s`), strings.Contains(r.Regex, `\s*`):
		return block
	case slices.ContainsFunc(r.Keywords, func(k string) bool { return len(k) > 4 }):
		return oneLine
	default:
		return token
	}
}

// ruleSet is all rules, found by their keywords.
type ruleSet struct {
	allowed  *allowlist
	rules    []*rule
	keywords []keyword
	// buckets holds, for each hash of two lower-case bytes, 1 + an index in
	// starts, 0 where no keyword starts with them.
	buckets [1 << 16]uint8
	starts  [][]int // indexes in keywords
}

type keyword struct {
	text  string
	rules []int // indexes in rules
}

// loadRules reads gitleaks' rules on first use (about 3 ms). Expressions are
// compiled when their keyword is first met.
var loadRules = sync.OnceValue(func() *ruleSet {
	var file struct {
		Allowlist *allowlist
		Rules     []*rule
	}
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &file); err != nil {
		panic("gitleaks' own rules cannot be read: " + err.Error()) // a constant of the library: a test reads it
	}
	set := &ruleSet{allowed: file.Allowlist}
	index := map[string]int{}
	for _, r := range file.Rules {
		if r.Regex == "" { // a rule about file names
			continue
		}
		r.shape = r.shapeOf()
		set.rules = append(set.rules, r)
		for _, text := range r.Keywords {
			text = strings.ToLower(text)
			k, known := index[text]
			if !known {
				k = len(set.keywords)
				index[text] = k
				set.keywords = append(set.keywords, keyword{text: text})
				pair := int(text[0])<<8 | int(text[1])
				if set.buckets[pair] == 0 {
					set.starts = append(set.starts, nil)
					set.buckets[pair] = uint8(len(set.starts))
				}
				start := &set.starts[set.buckets[pair]-1]
				*start = append(*start, k)
			}
			set.keywords[k].rules = append(set.keywords[k].rules, len(set.rules)-1)
		}
	}
	return set
})

// lower maps ASCII letters to lower case.
var lower = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			table[i] += 'a' - 'A'
		}
	}
	return table
}()

// find returns the secrets of text in order, none overlapping.
func (set *ruleSet) find(path string, text []byte) []span {
	var found []span
	scanned := make([]int, len(set.rules)) // how far each rule of shape token, oneLine or block has read
	var previous byte
	for i, c := range text {
		c = lower[c]
		bucket := set.buckets[int(previous)<<8|int(c)]
		previous = c
		if bucket == 0 {
			continue
		}
		for _, k := range set.starts[bucket-1] {
			if start := i - 1; start >= 0 && hasPrefixFold(text[start:], set.keywords[k].text) {
				for _, r := range set.keywords[k].rules {
					found = set.rules[r].find(path, text, start, start+len(set.keywords[k].text), &scanned[r], found)
				}
			}
		}
	}
	return merge(found)
}

// hasPrefixFold compares with a lower-case prefix, ignoring the case of ASCII letters.
func hasPrefixFold(text []byte, prefix string) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower[text[i]] != prefix[i] {
			return false
		}
	}
	return true
}

// How many bytes before and after a keyword an expression may look at.
const (
	before     = 64 // names of at most 50 bytes in front of a keyword
	afterName  = 48 // the rest of a name, quotes, the operator
	afterValue = 8  // what ends a value
	longest    = 16 << 10
	blockLines = 2 << 10
)

// find runs the rule near its keyword at text[start:end] and adds what it finds.
func (r *rule) find(path string, text []byte, start, end int, scanned *int, found []span) []span {
	var from, to int
	switch r.shape {
	case assignment:
		valueEnd, telling := assignedValue(text, end)
		if valueEnd < 0 || !telling && r.Path == "" { // rules for one kind of file take any word
			return found
		}
		from, to = max(0, start-before), min(len(text), valueEnd+afterValue)
	case token:
		if start < *scanned {
			return found
		}
		var random bool
		if from, to, random = tokenAround(text, start); !random {
			return found
		}
		from, to = max(0, from-1), min(len(text), to+2)
	case oneLine:
		if start < *scanned {
			return found
		}
		from, to = lineAround(text, start)
	case block:
		if start < *scanned {
			return found
		}
		from, to = max(0, start-before), min(len(text), start+blockLines)
		if strings.HasPrefix(r.ID, "curl-") && !curlOption.Match(text[from:to]) {
			*scanned = to
			return found
		}
	case privateKey:
		from, to = start, min(len(text), start+longest)
	}
	*scanned = to
	r.load()
	if r.path != nil && !r.path.MatchString(path) {
		return found
	}
	set := loadRules()
	for _, m := range r.regex.FindAllSubmatchIndex(text[from:to], -1) {
		match := text[from+m[0] : from+m[1]]
		group := m[:2]
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 && m[g] < m[g+1] && (r.SecretGroup == 0 || r.SecretGroup == g/2) {
				group = m[g : g+2]
				break
			}
		}
		s := span{start: from + group[0], end: from + group[1], rule: r}
		for s.start < s.end && text[s.start] == '\n' {
			s.start++
		}
		for s.start < s.end && text[s.end-1] == '\n' {
			s.end--
		}
		secret := text[s.start:s.end]
		lineStart, _ := lineAround(text, from+m[0])
		_, lineEnd := lineAround(text, from+m[1])
		line := text[lineStart:lineEnd]
		switch {
		case len(secret) == 0, overlapsMarker(text, s.start, s.end):
		case r.ID == generic && uuid.Match(secret) && !secretName.Match(match):
		case r.Entropy > 0 && entropy(secret) <= r.Entropy:
		case r.shape == privateKey && (m[0] != 0 || !keyBody.Match(match) || codeBody.Match(match)):
			// Code that mentions the first and the last line of keys.
		case bytes.Contains(line, []byte("gitleaks:allow")):
		case set.allowed.allows(path, secret, match, line):
		case slices.ContainsFunc(r.Allowlists, func(a *allowlist) bool { return a.allows(path, secret, match, line) }):
		default:
			found = append(found, s)
		}
	}
	return found
}

// assignedValue looks for an assignment after the part of its name that ends
// at text[at], and for a value of at least 8 bytes. It returns the end of the
// value, or -1, and whether a digit or sign tells it from a word. It is no
// stricter than the rules' expressions are on real secrets.
func assignedValue(text []byte, at int) (end int, telling bool) {
	text = text[:min(len(text), at+longest)]
	i := at
	skip := func(most int, class byteClass) {
		for most += i; i < len(text) && i < most && class[text[i]]; {
			i++
		}
	}
	skip(afterName, nameBytes)
	skip(3, quoteBytes)
	operator := i
	skip(4, operatorBytes)
	if i == operator {
		return -1, false
	}
	skip(8, paddingBytes)
	value := i
	for ; i < len(text) && valueBytes[text[i]]; i++ {
		telling = telling || tellingBytes[text[i]]
	}
	if i-value < 8 {
		return -1, false
	}
	return i, telling
}

type byteClass [256]bool

func classOf(classes ...string) (class byteClass) {
	for _, bytes := range classes {
		for i := range len(bytes) {
			class[bytes[i]] = true
		}
	}
	return class
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

var (
	nameBytes     = classOf(letters, digits, "_ \t.-")
	quoteBytes    = classOf(" \t\r\n\f\v'\"")
	paddingBytes  = classOf(" \t\r\n\f\v'\"`=")
	operatorBytes = classOf("=>:|?,")
	valueBytes    = classOf(letters, digits, "_.=+/:@~\\-")
	tellingBytes  = classOf(digits, "=+/")
	tokenBytes    = classOf(letters, digits, "_.=+/:@~%|$!*?&#-")
	randomBytes   = classOf(letters, digits, "+/=~-")
)

// tokenAround returns the word around text[at] and whether it has a run of 16
// bytes without a separator of identifiers, as every secret of these rules.
func tokenAround(text []byte, at int) (start, end int, random bool) {
	for start = at; start > max(0, at-256) && tokenBytes[text[start-1]]; {
		start--
	}
	run := 0
	for end = start; end < min(len(text), at+longest) && tokenBytes[text[end]]; end++ {
		if run++; !randomBytes[text[end]] {
			run = 0
		}
		random = random || run >= 16
	}
	return start, end, random
}

// lineAround returns the line around text[at], at most 4 KiB each way.
func lineAround(text []byte, at int) (start, end int) {
	const most = 4 << 10
	low, high := max(0, at-most), min(len(text), at+most)
	start = low + bytes.LastIndexByte(text[low:at], '\n') + 1
	if n := bytes.IndexByte(text[at:high], '\n'); n >= 0 {
		return start, at + n
	}
	return start, high
}

// curlOption is what the expressions for curl commands, slow on prose, need.
var curlOption = regexp.MustCompile(`\s-(?:u|H|-user|-header)`)

// Between the first and the last line of a private key there is base64, and
// nothing of a programming language.
var (
	keyBody  = regexp.MustCompile(`[A-Za-z0-9+/=]{32}`)
	codeBody = regexp.MustCompile(`[;{}]|\(\)`)
)

// overlapsMarker says whether text[start:end] touches what replaced a secret.
func overlapsMarker(text []byte, start, end int) bool {
	const longestMarker = 64
	from := max(0, start-longestMarker)
	marker := bytes.LastIndex(text[from:min(len(text), end+len(markerStart)-1)], []byte(markerStart))
	if marker < 0 {
		return false
	}
	if marker += from; marker >= start {
		return true
	}
	close := bytes.IndexByte(text[marker:], ']')
	return close >= 0 && marker+close >= start
}

// generic is the rule for any name that sounds like a secret's.
const generic = "generic-api-key"

// A UUID given to any "key" is an identifier more often than a secret, as in
// "first_key": "9E858021-…"; these names make it one.
var (
	uuid       = regexp.MustCompile(`(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	secretName = regexp.MustCompile(`(?i)api|auth|cred|passw|secret|token`)
)

// merge sorts spans and joins those that overlap. The joined one is named by
// the rule that says most: any before the generic one.
func merge(spans []span) []span {
	sort.SliceStable(spans, func(i, j int) bool {
		if spans[i].start != spans[j].start {
			return spans[i].start < spans[j].start
		}
		return spans[i].end > spans[j].end
	})
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && s.start < merged[n-1].end {
			last := &merged[n-1]
			last.end = max(last.end, s.end)
			if last.rule.ID == generic {
				last.rule = s.rule
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// entropy is Shannon's, in bits a byte.
func entropy(secret []byte) float64 {
	var counts [256]int
	for _, c := range secret {
		counts[c]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(secret))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
