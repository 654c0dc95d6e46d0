package main

import (
	"fmt"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/chinvex/chinvex/cmd/internal/door"
)

// progress shows how far an ingest is on standard error: a bar on a terminal, plain
// lines elsewhere (one at the start of a stage and one each five seconds), nothing
// with --quiet or --json.
type progress struct {
	a     *app
	bars  *mpb.Progress // nil off a terminal
	bar   *mpb.Bar
	stage string
	last  time.Time
	mute  bool
}

const lineEvery = 5 * time.Second

// stages says what the steps of an ingest do and what they count.
var stages = map[string]struct{ doing, unit string }{
	"index":   {"reading", "file"},
	"fit":     {"learning the vocabulary", ""},
	"embed":   {"embedding", "chunk"},
	"history": {"reading history", "commit"},
}

func (a *app) newProgress() *progress {
	p := &progress{a: a, mute: a.quiet || a.json}
	if !p.mute && newStyle(a.err).terminal {
		p.bars = mpb.New(mpb.WithOutput(a.err), mpb.WithWidth(40), mpb.WithRefreshRate(100*time.Millisecond))
	}
	return p
}

func (p *progress) step(stage string, done, all int) {
	if p.mute {
		return
	}
	s, ok := stages[stage]
	if !ok {
		s.doing = stage
	}
	if p.bars == nil {
		if stage == p.stage && time.Since(p.last) < lineEvery {
			return
		}
		first := stage != p.stage
		p.stage, p.last = stage, time.Now()
		switch {
		case all == 0:
			fmt.Fprintln(p.a.err, s.doing)
		case first:
			fmt.Fprintf(p.a.err, "%s %s\n", s.doing, door.Plural(all, s.unit))
		default:
			fmt.Fprintf(p.a.err, "%s: %s of %s\n", s.doing, door.Count(done), door.Plural(all, s.unit))
		}
		return
	}
	if stage != p.stage {
		p.finish()
		p.stage = stage
		front := mpb.PrependDecorators(decor.Name(fmt.Sprintf("%-24s", s.doing)))
		if all == 0 {
			p.bar = p.bars.New(0, mpb.SpinnerStyle(), front, mpb.BarRemoveOnComplete())
		} else {
			p.bar = p.bars.New(int64(all), mpb.BarStyle(), front, mpb.BarRemoveOnComplete(), mpb.AppendDecorators(
				decor.AverageSpeed(0, " %.0f "+s.unit+"s/s"), decor.AverageETA(decor.ET_STYLE_GO, decor.WCSyncSpace), decor.Name(" left")))
		}
	}
	if all > 0 {
		p.bar.SetCurrent(int64(done))
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		p.bar.SetTotal(-1, true)
		p.bar.Abort(true)
		p.bar.Wait()
		p.bar = nil
	}
}

// end takes the bar away, whether the work was done or failed.
func (p *progress) end() {
	if p.bars != nil {
		p.finish()
		p.bars.Wait()
	}
}
