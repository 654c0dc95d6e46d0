package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chinvex/chinvex/memory"
)

// notSaid stands where the commit gives no reason.
const notSaid = "Not said in the commit."

// candidate is a commit that may become an entry.
type candidate struct {
	commit   memory.Commit
	place    int // in the inputs
	score    int
	decision memory.Decision
}

// signal is a sign that a commit changes what others rely on.
type signal struct {
	subject, body int // points where the subject, or else a sentence of the body, says so
	form          func() *regexp.Regexp
}

// Points. A commit is a decision from enough on: one plain sign in the subject
// and the reason in the body, or a strong sign alone.
const (
	enough = 5
	strong = 5
)

var signals = []signal{
	// What was promised ends.
	{strong, 2, expression(`(?i)\b(?:deprecat(?:e|es|ing|ion of)|(?:is|are|as) (?:now )?deprecated|drops? (?:the )?(?:support|compat\w*)|(?:removes?|ends?) (?:the )?(?:support|compat\w*)|no longer supports?|end[- ]of[- ]life)\b`)},
	{4, 0, expression(`(?i)^(?:remove|drop|delete|disallow|forbid|reject|disable|stop)\b`)},
	// What is needed to build or run.
	{strong, 1, expression(`(?i)\b(?:msrv|(?:minimum|min|required?) (?:supported )?[\w. -]{0,24}version|(?:minimum|min) (?:supported )?(?:go|python|node|rust|java|ruby|php)\b|increase required|requires? (?:go|python|node(?:\.js)?|rust|java|ruby|php)\b|now requires?)`)},
	// Who is kept out.
	{4, 2, guarded},
	// What happens when nobody says otherwise.
	{4, 1, expression(`(?i)\b(?:by default|defaults? (?:to|for|from|is|value)|(?:change|set|make|use) \S+(?: \S+)? (?:as )?(?:the )?default|opt[- ](?:in|out))\b`)},
	// Another way of doing it.
	{3, 1, expression(`(?i)\b(?:migrat\w+|switch(?:e[ds])? (?:from|to|over)|replaced? .+ (?:with|by)|move to|in favou?r of|merge .+ and)\b`)},
	{3, 1, expression(`(?i)\b(?:on[- ]disk|(?:file|wire|storage|cache|index|output|log|lockfile|json|config\w*) format|database|schema change|backwards?[- ](?:in)?compat\w*)\b`)},
	// An interface that others write against.
	{3, 0, expression(`(?i)^(?:add|allow|support|introduce|expose|implement|enable|accept|let|permit|require|stabili[sz]e|promote|print|show|emit|report|adopt)\b`)},
	{2, 0, expression(`(?i)^(?:provide|make|change|rename|return|set|use|pass|expand|extend|limit|respect|honou?r|move|recogni[sz]e)\b`)},
	{1, 0, expression(`(?i)(?:\b(?:options?|flags?|settings?|config\w*|command[- ]line|cli|(?:public )?api|endpoint|env(?:ironment)? vars?|environment variables?|protocol|schema|subcommands?|exit (?:code|status))\b|--[a-z][a-z-]+)`)},
	// What it costs.
	{3, 2, expression(`(?i)\b(?:\d+(?:\.\d+)?\s?(?:x|×) (?:faster|slower|smaller|speed\w*|less)|(?:by|of|is|about|~)\s?\d+(?:\.\d+)?\s?%|speed[- ]?ups?|faster|memory (?:use|usage|footprint))\b`)},
	{2, 1, expression(`(?i)\b(?:release process|publish\w*|deploy\w*|docker\w*|container images?|support policy|licen[sc]e)\b`)},
}

var (
	// guarded is about who is kept out.
	guarded = expression(`(?i)\b(?:cve-\d{4}-\d+|ghsa-[\w-]+|vulnerab\w+|security|credentials?|secrets?|privileges?|unprivileged|xss|csrf|ssrf|(?:sql|command|code|header) injection|sandbox\w*|path traversal|denial of service|untrusted)\b`)
	// unfinishedForm is a subject that says that work was left in the middle.
	unfinishedForm = expression(`(?i)^(?:wip\b|\[wip\]|(?:\w+: )?temporar(?:y|ily)\b)`)
	mergeForm      = expression(`^(?:Merge (?:branch|pull request|remote|tag|commit|PR|#|in|into)\b|Merged? [\w/.-]+ into |Merge#)`)
	// flagForm is an option as users type it.
	flagForm = expression("(?:^|[\\s`'\"(])--[a-z][a-z0-9-]+")
	// chore is a subject that says that nothing changed for others.
	chore = expression(`(?i)^(?:wip\b|fixup!|squash!|amend!|bump|releas(?:e|ing)\b|prepare\b|start version|(?:set |new )?version\b|v?\d+\.\d+|cut \d|back to dev|post[- ]release|reapply\b|reland\b|` +
		`updated? (?:to |the )?(?:latest |all |non-major )*(?:change ?log|changes|release|contributors|sponsors|translat|authors|copyright|readme|doc|comment|test|snapshot|fixture|lock|dep|dev|sub|pre-commit|github|action|ci\b|workflow|ecosystem|typeshed|vendored|toolchain|\S+ (?:to|from|link|hook|version)|\S+$)|upgrade\b|` +
		`(?:a |some )?typos?\b|spelling|grammar|(?:re)?format|lint|nit|whitespace|indent|refactor|clean|tidy|inline|simplif|reorgani[sz]|split|extract|factor|deduplicate|consolidate|rewrite|rework|polish|minor|` +
		`fix(?:e[ds])? (?:(?:a|an|some|the|more|up|editable|docs?|minor|duplicated?|broken|invalid|failing|flaky|codespell|pre-commit|dead) )*(?:typo|typing|spelling|grammar|lint|clippy|warning|format|whitespace|ci\b|build|flak|test|doc|link|comment|mypy|pyright|type hint|findings|wording|example|"|workflow)|` +
		`(?:add|update|use|move|remove|delete|drop|improve|expand|extend|enable|disable|make|rename|change|skip|adjust|revert|reduce|run|ignore|set|pass) (?:(?:a|an|the|some|more|missing|new|old|all|back|extra|initial|basic|regression|failing|unit|benchmark|internal|integration|e2e|dev|experimental|flaky|unicode|remaining|\S+ (?:host|cli)|werkzeug host) )*(?:tests?\b|test (?:case|env|suite|for)|comments?\b|docs?\b|docstrings?|documentation|examples?\b|benchmarks?\b|snapshots?\b|fixtures?\b|links?\b|linters?\b|lints?\b|typing|type (?:hints?|annotations?)|ci\b|logo|changelog|workflows?\b|sponsors?\b|todos?\b|linter error|codespell|venv\b|helper|internal\b)|` +
		`(?:remove|delete|drop) (?:(?:the|a|an|some|all|more|now|no[- ]longer[- ](?:needed|used)) )*(?:unused|dead|obsolete|redundant|unnecessary|unneeded|stale|outdated|duplicated?|useless|leftover|extra|temporary|debug|old|trail|travail|whitespace|superfluous|needless|unreachable|hack|workaround|print|invalid|wrong|incorrect|bad|empty|private|internal|legacy code|todo)|` +
		`(?:remove|delete|drop) (?:.{0,40} )?(?:structs?|fields?|strings?|macros?|includes?|variables?|members?|guards?|casts?|imports?|wrappers?|constants?|branch|helpers?)\b|document\b|clarify|mention|note\b|describe|explain|demonstrate|link to|improve (?:the )?(?:wording|readability|naming|error messages? in tests)|correct (?:the )?(?:typo|spelling|doc|comment|link|name)|use .{1,40} (?:name|wording|style) consistently|` +
		`(?:test|tests|testing)\b|refresh|regenerate|re-?generate|vendor|sync\b|pin\b|unpin|tweak|initial commit|first commit|auto\b|ignore the)`)
	chores  = set("docs doc documentation test tests testing ci style refactor refact chore build release deps dep lint example examples bench benchmark site website readme changelog cleanup internal dx types typo i18n misc wip")
	renames = expression(`(?i)^(?:rename)\b.*\b(?:options?|flags?|settings?|config\w*|commands?|env\w*|api|endpoints?|fields?|parameters?)\b`)
	robots  = expression(`(?i)\[bot\]|^(?:dependabot|renovate|github[- ]actions?|pre-commit-ci|greenkeeper)\b`)

	// reason is a sentence that says why.
	reason = expression(`(?i)\b(?:because|since\b|so that|so (?:we|users?|it|that|they|the|you)\b|otherwise|previously|currently|today,?|to (?:avoid|prevent|ensure|reduce|keep|support|allow|make|let|help|improve|protect|align|match)|in order to|prevents?|avoids?|needed|required (?:by|for|to)|allows?|lets?|enables?|ensures?|guarantees?|would|could|cannot|can't|without|instead of|rather than|problem|issue|vulnerab\w+|unsafe|insecure|slow\w*|faster|confus\w+|unexpected\w*|wrong|incorrect\w*|due to|the reason|we want|motivat\w+|end of life|disables?|must (?:not|never)|hard(?:er)? to|eas(?:y|ier)|possible|impossible|no longer (?:needed|supported|maintained|necessary)|following our|consistent with|policy|unlike|although|however|but|isolates?|in preparation)\b`)
	// effect is a sentence that says what is different now.
	effect = expression(`(?i)^(?:we (?:now|can now|no longer)|now\b|instead,? (?:we|this)\b|what (?:we|this) do(?:es)?\b|(?:\w+,? )?(?:this|the) (?:pr|patch|commit|change|pull request|fix|diff|new|cl)\b|this (?:adds?|allows?|changes?|makes?|removes?|moves?|introduces?|implements?|replaces?|fix(?:es)?|updates?|also|now|means)|(?:adds|allows|avoids|changes|deprecates|disables|drops|enables|ensures|fixes|implements|introduces|makes|moves|prevents|reintroduces|re-lands|removes|renames|replaces|reverts|supports|switches|updates|added|allowed|changed|deprecated|dropped|enabled|introduced|removed|renamed|replaced|switched)\b|(?:` + verbs + `)\b)|\b(?:is|are) now\b|\bnow (?:\w+s|\w+ed)\b|\b(?:is|are) (?:deprecated|removed|replaced|renamed)\b|\bnew behaviou?r\b`)
	verbs  = `accept|add|adjust|adopt|allow|apply|avoid|bring|bump|call|change|check|clear|close|collect|combine|compute|consolidate|convert|copy|cover|create|defer|define|delay|delete|deprecate|detect|disable|do not|don't|drop|emit|enable|ensure|exclude|expand|export|expose|extend|fall back|fix|free|generate|guard|handle|hold|ignore|implement|import|improve|include|increase|infer|initiali[sz]e|insert|install|introduce|invoke|isolate|keep|limit|load|lock|make|mark|merge|migrate|modify|move|opt|parse|pass|perform|pin|preserve|prevent|print|propagate|provide|publish|quote|raise|re-?land|re-?introduce|read|reduce|register|reject|relax|release|remove|rename|render|replace|report|require|reset|resolve|respect|recogni[sz]e|restore|restrict|retain|return|reuse|revert|rewrite|rework|run|save|select|send|set|share|show|simplify|skip|sort|split|stop|store|strip|support|switch|take|teach|throw|track|treat|turn|unify|update|use|validate|verify|visit|warn|wrap|write`
	// noun is a sentence that starts with one of the verbs as a noun.
	noun = expression(`(?i)^(?:` + verbs + `) (?:of|for|is|are|was|were|has|have|had|can|will|in)\b`)
	// purpose is a sentence that says what for, whatever stands around it.
	purpose = expression(`(?i)\b(?:because|so that|so (?:we|users?|it|they|the|you)\b|otherwise|previously|currently|to (?:avoid|prevent|protect)|in order to|(?:is|are|was|be|longer) needed|since (?:the|it|we|this|there)\b|without (?:this|it)|due to|the reason|motivat\w+|required (?:by|for)|policy|consistent with|unlike)\b|^needed\b|^(?:this|it) (?:allows?|lets?|makes?|prevents?|avoids?|isolates?|ensures?|enables?|tells|gives|keeps|reduces|improves|simplifies|greatly|helps|follows|matches)\b`)
	// clause is where a sentence goes over from what is done to what for.
	clause = expression(`,? (because (?:of )?|so that |so (?:we|users?|it|they|the|you) |to (?:avoid|prevent|protect|match|align|ensure|allow|make|reduce|improve|keep) |in order to |since (?:the|it|we|this|there) |following (?:our|the) |due to |for consistency )`)
)

// decisions returns the entries that the commits are worth, newest first.
func decisions(in *memory.Inputs) []memory.Decision {
	known := in.Memory.Decisions
	reverted := map[string]bool{}
	messages := make([]message, len(in.Commits))
	for i, c := range in.Commits {
		messages[i] = readMessage(c)
		if r := messages[i].reverts; r != "" {
			reverted[r[:7]] = true
		}
	}
	announced := announcements(changeLog(in.Files), in.Commits, messages)
	var made, fixed []candidate
	seen := map[string]bool{}
	for i, c := range in.Commits {
		m := messages[i]
		id := short(c.Hash)
		switch {
		case id == "", c.Time.IsZero(), saysNothing(m.title), reverted[id[:7]], strings.Contains(known, id[:7]),
			memory.IsCommitSubject(c.Subject), mergeForm().MatchString(c.Subject), seen[m.title]:
			continue
		}
		entry := memory.Decision{Date: c.Time.UTC().Format("2006-01-02"), Title: m.title, Evidence: []string{id}}
		if in.Today != "" { // clocks differ, and days begin elsewhere first
			entry.Date = min(entry.Date, in.Today)
		}
		if strings.Contains(known, entry.Date+" — "+entry.Title+"\n") {
			continue
		}
		seen[m.title] = true
		one := candidate{commit: c, place: i, decision: entry}
		touched := touchedBy(c.Files)
		if one.decide(m, touched, announced[i]) {
			made = append(made, one)
		} else if one.repair(m, touched) {
			fixed = append(fixed, one)
		}
	}
	best := func(list []candidate, n int) []candidate {
		slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), newestFirst(a, b)) })
		return list[:min(len(list), n)]
	}
	fixed = best(fixed, maxFixes)
	untold := 0
	made = slices.DeleteFunc(made, func(c candidate) bool {
		if c.score == 0 {
			untold++
		}
		return c.score == 0 && untold > maxUntold
	})
	chosen := append(best(made, maxDecisions-len(fixed)), fixed...)
	slices.SortStableFunc(chosen, newestFirst)
	entries := []memory.Decision{}
	for _, c := range chosen {
		entries = append(entries, c.decision)
	}
	return entries
}

// decide tells whether a commit is a decision, and makes the entry.
func (c *candidate) decide(m message, touched touch, announced string) bool {
	all := strings.Join(m.sentences, " ")
	broken := m.bang || m.breaking != ""
	isRevert := m.reverts != "" || strings.HasPrefix(m.words, "Revert ")
	repair := m.kind == "fix" || m.kind == "bugfix" || m.kind == "hotfix" || repairs().MatchString(m.words)
	score, top := 0, 0
	for _, s := range signals {
		switch {
		case s.subject > 0 && s.form().MatchString(m.words):
			score, top = score+s.subject, max(top, s.subject)
		case s.body > 0 && s.form().MatchString(all):
			score += s.body
		}
	}
	feature := (m.kind == "feat" || m.kind == "feature") && touched.source // its author calls it one
	switch m.kind {
	case "feat", "feature", "perf", "security", "sec":
		score, top = score+3, max(top, 3)
	}
	if flagForm().MatchString(m.words) && touched.source && !repair {
		score, top = score+strong, strong
	}
	if isRevert {
		score, top = 4, 4 // what the title says is what was taken back
	}
	if broken {
		score, top = score+strong, strong
	}
	plain := chores[m.kind] || chore().MatchString(m.words) && !(renames().MatchString(m.words) && touched.changeLog) || robots().MatchString(c.commit.Author)
	apart := touched.known && !touched.source
	switch {
	case broken:
	case plain && (top < strong || m.kind != "" && chores[m.kind]),
		repair && top < 4, // a remedy is a decision only when it changes a default, a promise or who is kept out
		apart && !touched.release && !guarded().MatchString(m.words), // how the project is worked on
		apart && len(m.sentences) == 0,
		m.kind == "fix" && top < strong && !isRevert && announced == "":
		return false
	}
	if announced != "" && touched.source { // its authors found that users must know
		score, top = score+enough, max(top, 3)
	} else if touched.changeLog && touched.source {
		score, top = score+2, max(top, 2)
	} else if touched.docs && touched.source {
		score++
	}
	if top < 2 {
		return false
	}
	why, impact := explain(m.sentences)
	if m.breaking != "" {
		impact = shorten(ended(m.breaking), lengthOfText)
	} else if len(m.sentences) == 0 && announced != "" {
		if why, impact = explainLog(sentences(announced)); impact == "" {
			announced = ""
		}
	}
	if why != "" {
		score += 2
	}
	impact = cmp.Or(impact, touched.String())
	untold := why == "" && top < strong && announced == ""
	if !feature && (score < enough || untold) || why == "" && impact == "" {
		return false
	}
	if c.score = score; untold {
		c.score = 0 // there is room behind those that say why
	}
	c.decision.Kind = "decision"
	c.decision.Why = cmp.Or(why, notSaid)
	c.decision.Impact = cmp.Or(impact, notSaid)
	return true
}

// explainLog does so for a change log, which says first what is different.
func explainLog(said []string) (why, impact string) {
	for i, s := range said {
		switch {
		case i > 0 && why == "" && purpose().MatchString(s):
			why = shorten(s, lengthOfText)
		case i == 0:
			impact = shorten(s, lengthOfText)
		case len(impact)+len(s) < lengthOfText:
			impact += " " + s
		}
	}
	return why, impact
}

// lengthOfText bounds what an entry says under a label, in runes.
const lengthOfText = 320

// isEffect tells whether a sentence says what is different now.
func isEffect(s string) bool { return effect().MatchString(s) && !noun().MatchString(s) }

// explain picks from a body's sentences those that say why, and one that says
// what is different now. A message tells how things stood and then what it does
// about it, or what it does and then what for.
func explain(said []string) (why, impact string) {
	said = said[:min(len(said), 8)]
	does := slices.IndexFunc(said, isEffect)
	opening := said
	if does >= 0 {
		opening = said[:does]
		impact = shorten(said[does], lengthOfText)
	}
	cue := slices.IndexFunc(opening, reason().MatchString)
	switch {
	case len(opening) > 0 && (does > 0 || cue >= 0):
		at := 0
		if cue > 1 {
			at = cue
		}
		why = opening[at]
		if at+1 < len(opening) && len(why)+len(opening[at+1]) < lengthOfText {
			why += " " + opening[at+1]
		}
	case does == 0:
		if at := clause().FindStringSubmatchIndex(said[0]); at != nil && words(said[0][:at[0]]) > 3 && words(said[0][at[2]:]) > 2 &&
			strings.Count(said[0][:at[0]], "(") == strings.Count(said[0][:at[0]], ")") {
			why, impact = upperFirst(said[0][at[2]:]), ended(said[0][:at[0]])
			break
		}
		for _, s := range said[1:min(len(said), 5)] {
			if purpose().MatchString(s) && !(isEffect(s) && !strings.HasPrefix(s, "This ")) {
				why = s
				break
			}
		}
	}
	return shorten(withoutTurn(why), lengthOfText), impact
}

var turn = expression(`^(?:However,?|But|And|So,|Thus,?|Hence,?|Moreover,|Unfortunately,|Indeed,|Then,|Also,?|Additionally,|In addition,|More \w+ly,) `)

// withoutTurn takes off a word that leans on a sentence that is not there.
func withoutTurn(s string) string { return upperFirst(turn().ReplaceAllString(s, "")) }

var (
	repairs = expression(`(?i)^(?:fix|fixes|fixed|avoid|prevent|correct|handle|guard|restore|don't|do not|properly|resolve|ensure|make sure|repair|work ?around|never)\b`)
	// inside is what only those who work on the project meet.
	inside  = expression(`(?i)\b(?:docs?|documentation|doctests?|docstrings?|tests?|ci|flaky|clippy|lint\w*|typos?|workflows?|pre-commit)\b`)
	serious = expression(`(?i)\b(?:panic\w*|crash\w*|hangs?|hung|deadlock\w*|leaks?|leaked|leaking|overflow\w*|corrupt\w*|data loss|regress\w*|segfault\w*|use[- ]after[- ]free|races?|race condition|infinite|security|cve-\d+\S*|out of memory|exhaust\w*|exponential\w*|mutat\w+)\b`)
	symptom = expression(`(?i)\b(?:panic\w*|crash\w*|fail(?:s|ed|ing|ure)?|errors?|errored|hangs?|hung|deadlock\w*|leak\w*|overflow\w*|corrupt\w*|lost|los(?:es|ing)|broken?|breaks|wrong\w*|incorrect\w*|unexpected\w*|regress\w*|bug|did(?: not|n't)|does(?: not|n't)|do(?: not|n't)|could(?: not|n't)?|cannot|can't|missing|missed|ignored|invalid|raise[sd]?|throws?|thrown|infinite|race|stale|segfault\w*|false (?:positive|negative)s?|rejected|spurious\w*|exhaust\w*|exponential\w*|twice|unnecessar\w+)\b`)
	because = expression(`(?i),? (?:because|due to|caused by|since the|since it|as a result of)(?: of)? `)
	leadsTo = expression(`(?i), (?:causing|resulting in|leading to|triggering|which (?:caused?s?|led to|leads to|resulted in|results in|triggers?)) (.)|, ((?:corrupt|leak|overwrit|mutat|los)ing) `)
	// gerunds are the second group's words as a sentence starts.
	gerunds = map[string]string{"corrupting": "Corrupts", "leaking": "Leaks", "overwriting": "Overwrites", "mutating": "Mutates", "losing": "Loses"}
	// leaning is a text that cannot be understood alone.
	leaning = expression(`^(?:This (?:panic|bug|issue|error|happens|was|is)|That|These|Those|It) `)
	hence   = expression(`^(?:As a result|Consequently|Hence|Therefore|Thus),? `)
	// led and came are sentences that name the effect, or the cause, of the one before.
	led  = expression(`(?i)^(?:this|that|which) (?:can |could |would |may )?(?:causes?d?|leads? to|led to|results? in|resulted in|triggers|triggered) `)
	came = expression(`(?i)^(?:this|that|it|which)(?: \w+){1,2} (?:because|due to|caused by)(?: of)? `)
	// aside is a sentence that is not the cause of what the one before it tells.
	aside  = expression(`(?i)\b(?:one way|example|can also|for instance|full fix|i prefer|i think|instead|regression test|this (?:is|pr|change|limited)|was introduced|reported)\b|^(?:we|both|the same|that's|this|also|additionally|furthermore|similarly)\b`)
	remedy = expression(`(?i)^(?:we (?:now|instead)|now\b|instead,? |(?:this|the) (?:pr|patch|commit|change|fix|pull request|limited fix)\b|(?:the fix|fixed|to fix|(?:` + verbs + `)\b))`)
)

// repair tells whether a commit is a fix whose message tells symptom and cause,
// and makes the entry.
func (c *candidate) repair(m message, touched touch) bool {
	kind := m.kind == "fix" || m.kind == "bugfix" || m.kind == "hotfix" || m.kind == "" && repairs().MatchString(m.words)
	if !kind || chore().MatchString(m.words) || inside().MatchString(m.words) || touched.known && !touched.source || len(m.sentences) < 2 && m.kind != "fix" {
		return false
	}
	d := &c.decision
	used := make([]bool, len(m.sentences))
	explicit, follows := 0, false // follows: the cause may speak of "it"
	for i, s := range m.sentences {
		if i > 5 || d.RootCause != "" {
			break
		}
		if remedy().MatchString(s) {
			continue
		}
		if at := because().FindStringIndex(s); at != nil && symptom().MatchString(s[:at[0]]) && words(s[:at[0]]) > 3 && words(s[at[1]:]) > 3 {
			d.Symptom, d.RootCause, explicit = ended(s[:at[0]]), ended(upperFirst(s[at[1]:])), 1
			used[i] = true
		} else if at := leadsTo().FindStringSubmatchIndex(s); at != nil && words(s[:at[0]]) > 3 && words(s[max(at[2], at[4]):]) > 2 {
			effect := upperFirst(s[max(at[2], at[4]):])
			if at[4] >= 0 {
				word := s[at[4]:at[5]]
				effect = cmp.Or(gerunds[strings.ToLower(word)], word) + s[at[5]:]
			}
			d.Symptom, d.RootCause, explicit = ended(effect), ended(s[:at[0]]), 1
			used[i] = true
		} else if i > 0 && hence().MatchString(s) && symptom().MatchString(s) && !leans(m.sentences[i-1]) {
			d.Symptom, d.RootCause, explicit = upperFirst(hence().ReplaceAllString(s, "")), m.sentences[i-1], 1
			used[i-1], used[i] = true, true
		} else if at := led().FindStringIndex(s); i > 0 && at != nil && symptom().MatchString(s) && words(s[at[1]:]) > 2 && !leans(m.sentences[i-1]) {
			d.Symptom, d.RootCause, explicit = upperFirst(s[at[1]:]), m.sentences[i-1], 1
			used[i-1], used[i] = true, true
		} else if at := came().FindStringIndex(s); i > 0 && at != nil && symptom().MatchString(m.sentences[i-1]) && words(s[at[1]:]) > 3 && !leans(m.sentences[i-1]) {
			d.Symptom, d.RootCause, explicit = m.sentences[i-1], upperFirst(s[at[1]:]), 1
			used[i-1], used[i], follows = true, true, true
		} else if i == 0 && len(m.sentences) > 2 && symptom().MatchString(s) && remedy().MatchString(m.sentences[2]) &&
			!leans(m.sentences[1]) {
			// What goes wrong, how it comes, what is done: the order in which fixes are told.
			d.Symptom, d.RootCause = s, m.sentences[1]
			used[0], used[1] = true, true
		}
	}
	if d.Symptom == "" || d.RootCause == "" || leaning().MatchString(d.Symptom) || !follows && leaning().MatchString(d.RootCause) {
		return false
	}
	d.Symptom, d.RootCause = withoutTurn(d.Symptom), withoutTurn(d.RootCause)
	for i, s := range m.sentences {
		if !used[i] && remedy().MatchString(s) {
			d.Fix = s
			break
		}
	}
	score := explicit
	if serious().MatchString(m.words) || serious().MatchString(d.Symptom) {
		score += 2
	}
	if m.refers {
		score++
	}
	if len(touched.tests) > 0 {
		score++
	}
	if score < 3 {
		return false
	}
	c.score = score
	d.Kind = "fix"
	d.Symptom, d.RootCause = shorten(d.Symptom, lengthOfText), shorten(d.RootCause, lengthOfText)
	d.Fix = shorten(cmp.Or(d.Fix, ended(m.title)), lengthOfText)
	d.Prevention = notSaid
	if len(touched.tests) > 0 {
		d.Prevention = "Tests in " + listPaths(touched.tests, 2) + "."
	}
	return true
}

// leans tells whether a sentence is about the commit itself, and neither symptom nor cause.
func leans(s string) bool { return remedy().MatchString(s) || aside().MatchString(s) }

func words(s string) int { return len(strings.Fields(s)) }

func ended(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".,;:") + "." }

// short is a hash as entries name it, or "" for what is no hash.
func short(hash string) string {
	if len(hash) < 7 || strings.Trim(hash, "0123456789abcdef") != "" {
		return ""
	}
	return hash[:min(len(hash), 12)]
}

// touch says what kinds of files a commit changed.
type touch struct {
	known                            bool // the inputs name its files
	source, docs, changeLog, release bool
	code, tests                      []string
}

var (
	testPath    = expression(`(?i)(?:^|/)(?:tests?|testdata|spec|specs|__tests__|__snapshots__|snapshots|fixtures|e2e|mdtest|testing|bench(?:es|marks?)?)/|(?:^|/)(?:test_[^/]*|conftest\.py|[^/]*[_.-](?:test|tests|spec|bench)\.[a-z]+|[^/]*Tests?\.[a-z]+|[^/]*\.snap)$`)
	docPath     = expression(`(?i)(?:^|/)(?:docs?|documentation|site|website|examples?|man)/|\.(?:md|rst|txt|adoc|mdx)$|(?:^|/)(?:licen[sc]e|authors|contributors|maintainers|notice|readme)[^/]*$`)
	workPath    = expression(`(?i)^(?:\.github|\.circleci|\.ci|\.gitlab|\.vscode|\.idea|\.devcontainer|\.azure[^/]*|ci|\.agents|\.claude)/|(?:^|/)\.[a-z][^/]*$|(?:^|/)(?:azure-pipelines|appveyor|renovate|codecov)[^/]*$|(?:^|/)[^/]*(?:\.lock|-lock\.(?:json|yaml)|\.sum|\.dic|lockfile)$`)
	releasePath = expression(`(?i)(?:^|/)(?:dockerfile[^/]*|containerfile|docker-compose[^/]*|compose\.ya?ml|helm/.*|charts/.*|k8s/.*|deploy(?:ment)?s?/.*|terraform/.*)$|^\.github/workflows/[^/]*(?:publish|release|deploy)[^/]*$`)
	logPath     = expression(`(?i)^(?:[^/]+/){0,3}(?:changelog|changes|history|news|release[-_]?notes)(?:\.(?:md|rst|txt|adoc))?$|^(?:[^/]+/)*(?:changelog\.d|newsfragments|\.changeset|changes\.d|\.changes)/[^/]+$`)
)

func touchedBy(files []string) touch {
	t := touch{known: len(files) > 0}
	for _, f := range files {
		switch {
		case logPath().MatchString(f):
			t.changeLog = true
		case releasePath().MatchString(f):
			t.release = true
			t.code = append(t.code, f)
		case testPath().MatchString(f):
			t.tests = append(t.tests, f)
		case workPath().MatchString(f):
		case docPath().MatchString(f):
			t.docs = true
		default:
			t.source = true
			t.code = append(t.code, f)
		}
	}
	return t
}

// String names the files that others may have to look at.
func (t touch) String() string {
	if len(t.code) == 0 {
		return ""
	}
	return "Changes " + listPaths(t.code, 3) + "."
}

// listPaths names the first n of the paths and counts the rest.
func listPaths(paths []string, n int) string {
	var named []string
	for _, p := range paths[:min(len(paths), n)] {
		named = append(named, quoted(p))
	}
	if rest := len(paths) - len(named); rest > 0 {
		files := "files"
		if rest == 1 {
			files = "file"
		}
		return strings.Join(named, ", ") + fmt.Sprintf(" and %d more %s", rest, files)
	}
	if len(named) > 1 {
		return strings.Join(named[:len(named)-1], ", ") + " and " + named[len(named)-1]
	}
	return strings.Join(named, "")
}

// logEntry is a line that was added to a change log.
type logEntry struct {
	text    string
	numbers []string
	words   map[string]bool
}

var logItem = expression(`^\s{0,3}[-*+•]\s+(.*)$`)

// changeLog reads the entries that were added to change logs from their diffs.
func changeLog(files []memory.Excerpt) []logEntry {
	var out []logEntry
	for _, f := range files {
		if !logPath().MatchString(f.Path) {
			continue
		}
		var now []string
		end := func() {
			text := strings.Join(now, " ")
			now = nil
			if text == "" {
				return
			}
			e := logEntry{words: significant(text)}
			for _, n := range trackerRole().FindAllStringSubmatch(text, -1) {
				e.numbers = append(e.numbers, cmp.Or(n[1], n[2]))
			}
			e.text = plainText(trackerRole().ReplaceAllString(text, ""))
			out = append(out, e)
		}
		for line := range strings.Lines(f.Text) {
			added, ok := strings.CutPrefix(strings.TrimRight(line, " \r\n"), "+")
			item := logItem().FindStringSubmatch(added)
			switch {
			case !ok || strings.HasPrefix(line, "+++") || strings.TrimSpace(added) == "":
				end()
			case item != nil:
				end()
				now = []string{item[1]}
			case len(now) > 0 && strings.HasPrefix(added, "  "):
				now = append(now, strings.TrimSpace(added))
			default:
				end()
			}
		}
		end()
	}
	return out
}

var trackerRole = expression("\\s*(?::(?:pr|issue|gh|ghsa):`([^`]*)`|\\(?\\[?#(\\d{1,7})\\]?(?:\\([^)]*\\))?\\)?)")

// announcements returns what the change log says of each commit that changed it:
// the entry that has most of the subject's words, which is no other commit's.
func announcements(log []logEntry, commits []memory.Commit, messages []message) []string {
	out := make([]string, len(commits))
	if len(log) == 0 {
		return out
	}
	type match struct{ commit, points int }
	best := make([]match, len(log))
	for i, c := range commits {
		if !touchedBy(c.Files).changeLog {
			continue
		}
		subject := significant(messages[i].words)
		entry, points := -1, 0
		for k, e := range log {
			shared := 0
			for w := range subject {
				if e.words[w] {
					shared++
				}
			}
			p := 0
			if shared >= 2 && 3*shared >= 2*len(subject) {
				p = 100 * shared / len(subject)
			}
			for _, n := range e.numbers {
				if slices.Contains(messages[i].numbers, n) {
					p += 100
				}
			}
			if p > points {
				entry, points = k, p
			}
		}
		if entry >= 0 && points > best[entry].points {
			best[entry] = match{i, points}
		}
	}
	for k, m := range best {
		if m.points > 0 && out[m.commit] == "" {
			out[m.commit] = log[k].text
		}
	}
	return out
}

var wordForm = expression(`[A-Za-z][A-Za-z_]{2,}|\d{3,}`)

// significant returns the words of a text that tell it from others, without
// their endings.
func significant(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range wordForm().FindAllString(strings.ToLower(s), 200) {
		if common[w] {
			continue
		}
		for _, ending := range []string{"ing", "ed", "es", "s", "e"} {
			if cut, ok := strings.CutSuffix(w, ending); ok && len(cut) > 3 {
				w = cut
				break
			}
		}
		out[w] = true
	}
	return out
}

var common = set("the and for with from that this when are was not but has have can will into use used using now all any fix add remove make set via its of more than also only")
