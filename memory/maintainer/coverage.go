package maintainer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/chinvex/chinvex/git"
	"github.com/chinvex/chinvex/memory"
)

// anchorOf returns the commit of the coverage anchor; "" without one.
func anchorOf(f memory.Files) string {
	if f.State == nil {
		return ""
	}
	return f.State.Coverage().Anchor
}

const anchorStart = "<!-- chinvex:last-commit:"

var tipsForm = regexp.MustCompile(`<!--\s*chinvex:also-covered:([0-9a-f,]+)\s*-->`)

// tipsOf reads the comment on the other tips that are covered.
func tipsOf(state *memory.Document) []string {
	var tips []string
	for _, s := range state.Sections {
		for _, b := range s.Blocks {
			if m := tipsForm.FindStringSubmatch(b.Raw); m != nil && b.Type == memory.Comment {
				tips = strings.Split(m[1], ",")
			}
		}
	}
	return tips
}

// withTips writes that comment, before the anchor, which is the last line.
func withTips(state *memory.Document, tips []string) *memory.Document {
	text := string(state.Bytes())
	at := strings.LastIndex(text, anchorStart)
	if len(tips) == 0 || at < 0 {
		return state
	}
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	text = text[:at] + "<!-- chinvex:also-covered:" + strings.Join(tips, ",") + " -->" + end + text[at:]
	return memory.Parse(memory.State, []byte(text))
}

// start is where the range begins.
type start struct {
	from string   // what is covered, for people and for differences; "" for nothing
	tips []string // commits whose histories are covered, all in the history of the head
}

// covered finds out which commits up to head have been read. What cannot be found
// any more is replaced by something older, never by something newer.
func (r *run) covered(ctx context.Context, head string, state *memory.Document) (start, error) {
	if state == nil || state.Coverage().Anchor == "" {
		return start{}, nil
	}
	cover := state.Coverage()
	lost := "The commit that the memory covers, " + short(cover.Anchor)
	anchor, err := r.repo.Resolve(ctx, cover.Anchor)
	switch {
	case errors.Is(err, git.ErrUnknown):
		lost += ", is gone (a rebase, a squash or a shallow clone)"
	case err != nil:
		return start{}, err
	default:
		bases, err := r.repo.MergeBases(ctx, head, anchor)
		if err != nil {
			return start{}, err
		}
		if slices.Equal(bases, []string{anchor}) || slices.Contains(bases, head) {
			s := start{anchor, bases}
			for _, tip := range tipsOf(state) {
				hash, err := r.repo.Resolve(ctx, tip)
				if errors.Is(err, git.ErrUnknown) {
					continue // that branch is read again
				}
				if err != nil {
					return start{}, err
				}
				bases, err := r.repo.MergeBases(ctx, head, hash)
				if err != nil {
					return start{}, err
				}
				s.tips = append(s.tips, bases...)
			}
			return s, nil
		}
		lost += ", is not in the history of this branch"
		if len(bases) > 0 {
			r.review = append(r.review, fmt.Sprintf("%s; history was read from %s on, where the two part", lost, short(bases[0])))
			return start{bases[0], bases}, nil
		}
	}
	if !cover.Updated.IsZero() {
		// The day began 14 hours before midnight UTC where it begins first.
		older, err := r.repo.NewestBefore(ctx, head, cover.Updated.Add(-14*time.Hour))
		if err != nil {
			return start{}, err
		}
		if older != "" {
			r.review = append(r.review, fmt.Sprintf("%s; history was read from %s on, the last commit before the update of %s",
				lost, short(older), cover.Updated.Format(time.DateOnly)))
			return start{older, []string{older}}, nil
		}
	}
	r.review = append(r.review, fmt.Sprintf("%s; the newest %d commits were read", lost, r.Limits.Commits))
	return start{}, nil
}

// batch is what one run reads.
type batch struct {
	commits   []git.Node // newest first, none of the maintainer's own
	to        string     // the anchor
	also      []string   // the other tips of what is covered then
	remaining int
}

// pick chooses the oldest commits that are not covered; where nothing is, the
// newest of all.
func (r *run) pick(ctx context.Context, head string, s start) (batch, error) {
	if len(s.tips) == 0 {
		return r.newest(ctx, head)
	}
	all, err := r.repo.Graph(ctx, git.GraphOptions{From: head, Not: s.tips})
	if err != nil {
		return batch{}, err
	}
	own, err := r.own(ctx, all)
	if err != nil {
		return batch{}, err
	}
	counts := func(n git.Node) bool { return !own[n.Hash] }
	if r.prefix != "" {
		here, err := r.repo.Graph(ctx, git.GraphOptions{From: head, Not: s.tips, Dir: r.root})
		if err != nil {
			return batch{}, err
		}
		touches := map[string]bool{}
		for _, n := range here {
			touches[n.Hash] = true
		}
		counts = func(n git.Node) bool { return !own[n.Hash] && touches[n.Hash] }
	}
	var b batch
	end := len(all) // what stands from here on is covered then; parents come behind their children
	for i := len(all) - 1; i >= 0; i-- {
		switch {
		case !counts(all[i]):
		case len(b.commits) == r.Limits.Commits:
			b.remaining++
		default:
			b.commits = append(b.commits, all[i])
			end = i
		}
	}
	slices.Reverse(b.commits)
	switch {
	case len(b.commits) == 0:
	case b.remaining == 0:
		b.to = beforeOwn(head, all, own)
	default:
		b.to = b.commits[0].Hash
		hasChild := map[string]bool{}
		for _, n := range all[end:] {
			for _, parent := range n.Parents {
				hasChild[parent] = true
			}
		}
		for _, n := range all[end:] {
			s.tips = append(s.tips, n.Hash)
		}
		for _, tip := range s.tips {
			if tip != b.to && !hasChild[tip] && !slices.Contains(b.also, tip) {
				b.also = append(b.also, tip)
			}
		}
		slices.Sort(b.also)
	}
	return b, nil
}

// newest picks the newest commits of all; the older ones count as covered.
func (r *run) newest(ctx context.Context, head string) (batch, error) {
	for depth := r.Limits.Commits + 10; ; depth *= 2 {
		opts := git.GraphOptions{From: head, Depth: depth, ByDate: true}
		if r.prefix != "" {
			opts.Dir = r.root
		}
		all, err := r.repo.Graph(ctx, opts)
		if err != nil {
			return batch{}, err
		}
		own, err := r.own(ctx, all)
		if err != nil {
			return batch{}, err
		}
		b := batch{to: beforeOwn(head, all, own)}
		for _, n := range all {
			if !own[n.Hash] && len(b.commits) < r.Limits.Commits {
				b.commits = append(b.commits, n)
			}
		}
		if len(b.commits) == r.Limits.Commits || len(all) < depth {
			return b, nil
		}
	}
}

// beforeOwn returns the commit that head is but for the maintainer's own on top.
func beforeOwn(head string, all []git.Node, own map[string]bool) string {
	parent := map[string]string{}
	for _, n := range all {
		if own[n.Hash] && len(n.Parents) == 1 {
			parent[n.Hash] = n.Parents[0]
		}
	}
	for parent[head] != "" {
		head = parent[head]
	}
	return head
}

// own tells which commits bring nothing but what the maintainer wrote: by their subject
// and because they touch nothing but memory files, this repository's or that of a
// folder; and merges of such.
func (r *run) own(ctx context.Context, all []git.Node) (map[string]bool, error) {
	var likely []string
	for _, n := range all {
		if memory.IsCommitSubject(n.Subject) && len(n.Parents) <= 1 {
			likely = append(likely, n.Hash)
		}
	}
	commits, err := r.repo.Commits(ctx, likely)
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for _, c := range commits {
		own[c.Hash] = !slices.ContainsFunc(c.Files, func(f git.Change) bool { return !r.isMemory(f.Path) })
	}
	for _, n := range slices.Backward(all) { // parents first
		if len(n.Parents) != 2 || !own[n.Parents[1]] {
			continue
		}
		brought, err := r.repo.Churn(ctx, n.Parents[0], n.Hash)
		if err != nil {
			return nil, err
		}
		own[n.Hash] = true
		for path := range brought {
			own[n.Hash] = own[n.Hash] && r.isMemory(path)
		}
	}
	return own, nil
}

// isMemory tells whether a path from the top of the work tree is a memory file.
func (r *run) isMemory(path string) bool {
	for kind, own := range r.paths {
		if name := memory.Kind(kind).Path(); path == own || path == name || strings.HasSuffix(path, "/"+name) {
			return true
		}
	}
	return false
}
