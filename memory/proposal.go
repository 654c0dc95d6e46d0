package memory

import "time"

// Unknown and NeedsTriage are what a writer says instead of a guess.
const (
	Unknown     = "Unknown (needs human)"
	NeedsTriage = "Needs triage"
)

// Inputs are what a writer reasons over: bounded, redacted, and the same whoever writes.
type Inputs struct {
	Repository string    `json:"repository"`
	Today      string    `json:"today"` // YYYY-MM-DD
	From       string    `json:"from"`  // full hash of the newest commit that is covered already; "" when nothing is
	To         string    `json:"to"`    // full hash of the newest commit in Commits, which the anchor moves to
	Commits    []Commit  `json:"commits"`
	Files      []Excerpt `json:"files"`     // diffs of the files that changed most
	Texts      []Excerpt `json:"texts"`     // specifications and plans that the commits touched
	Manifests  []Excerpt `json:"manifests"` // what tells how to run and test
	Memory     Current   `json:"memory"`
	Remaining  int       `json:"remaining"`     // commits after To that are left for the next run
	Review     []string  `json:"manual_review"` // why a person should look at the result, one sentence each
}

// Commit is one commit of the range, newest first in Inputs.
type Commit struct {
	Hash    string    `json:"hash"` // full
	Time    time.Time `json:"time"`
	Author  string    `json:"author"`
	Subject string    `json:"subject"`
	Body    string    `json:"body,omitempty"`
	Files   []string  `json:"files,omitempty"` // relative to the repository; nil when there are too many
}

// Excerpt is the text of a file, or of its difference.
type Excerpt struct {
	Path string `json:"path"`
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"` // there is more
}

// Current is the memory as it is: the files' texts, "" for one that does not exist.
type Current struct {
	State       string `json:"state"`
	Constraints string `json:"constraints"`
	Decisions   string `json:"decisions"`
}

// Proposal is what a writer gives: the JSON that Schema describes. Check says what is
// wrong with it, Apply makes the files of it.
type Proposal struct {
	State       StateProposal       `json:"state"`
	Constraints ConstraintsProposal `json:"constraints"`
	Decisions   []Decision          `json:"decisions"` // new entries
	Recent      []string            `json:"recent"`    // the roll-up; empty: made from the entries' titles
}

// StateProposal is the whole of STATE.md.
type StateProposal struct {
	Objective  string   `json:"objective"` // one line
	Active     []string `json:"active"`    // 1 to 3
	Blockers   []string `json:"blockers"`  // up to 3; empty: None
	Next       []Action `json:"next"`      // up to 5
	Quick      Quick    `json:"quick"`
	OutOfScope []string `json:"out_of_scope"` // up to 3
}

// Action is a checkbox.
type Action struct {
	Text string `json:"text"`
	Done bool   `json:"done"`
}

// Quick is the quick reference; "" for what is not known.
type Quick struct {
	Run   string `json:"run"`
	Test  string `json:"test"`
	Entry string `json:"entry"`
}

// ConstraintsProposal changes CONSTRAINTS.md.
type ConstraintsProposal struct {
	Add       []Added      `json:"add"`
	Edit      []Edited     `json:"edit"`
	Supersede []Superseded `json:"supersede"`
}

// Added is a new bullet.
type Added struct {
	Section string `json:"section"`
	Text    string `json:"text"` // one line, without the bullet
}

// Edited is a bullet that says something else now.
type Edited struct {
	Section string `json:"section"`
	Old     string `json:"old"` // the bullet's text as it is
	New     string `json:"new"` // without the date, which Apply adds
}

// Superseded is a bullet that no longer holds.
type Superseded struct {
	Section string `json:"section"`
	Old     string `json:"old"`
	Reason  string `json:"reason"`
}

// Decision is a new entry of DECISIONS.md: a decision has Why, Impact and Evidence, a
// fix has Symptom, RootCause, Fix, Prevention and Evidence; the other fields are "".
type Decision struct {
	Date       string   `json:"date"` // YYYY-MM-DD
	Title      string   `json:"title"`
	Kind       string   `json:"kind"` // "decision" or "fix"
	Why        string   `json:"why"`
	Impact     string   `json:"impact"`
	Symptom    string   `json:"symptom"`
	RootCause  string   `json:"root_cause"`
	Fix        string   `json:"fix"`
	Prevention string   `json:"prevention"`
	Evidence   []string `json:"evidence"` // commit hashes, of 7 digits at least, or links to pull requests
}
