package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/search"
)

func (a *app) searchCommand() *cobra.Command {
	var q search.Query
	var mode string
	var batch bool
	cmd := &cobra.Command{
		Use:   "search [flags] QUERY",
		Short: "Find the places that answer a question or define a name",
		Long: `Find the places that answer a question or define a name. Several arguments are one
query. A query that starts with a dash comes after "--".

With --batch queries are read from standard input, a line of JSON each:
  {"id": 1, "query": "where are urls parsed", "k": 5}
and answered in order, each with a line as soon as it is known:
  {"id": 1, "results": [{"file", "start", "end", "score", "symbol"}, …]}
or {"id": 1, "error": "…"}.`,
		Example: `  chinvex search where are redirects followed
  chinvex search --lang go --path 'internal/**' ParseURL
  chinvex search -- --no-verify`,
		Annotations: map[string]string{globals: "context home json quiet verbose"},
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case batch && len(args) > 0:
				return errors.New("--batch reads its queries from standard input and takes none as an argument")
			case !batch:
				return someQuery(nil, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Mode = search.Mode(mode)
			if q.Mode != search.Hybrid && q.Mode != search.Semantic && q.Mode != search.Lexical {
				return usage(fmt.Sprintf("the mode %q does not exist; use hybrid, semantic or lexical", mode))
			}
			if err := inRange("--limit", q.Limit, 1, 1000); err != nil {
				return err
			}
			if batch {
				return a.batch(cmd.Context(), q)
			}
			q.Text = strings.Join(args, " ")
			return a.search(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&q.Limit, "limit", "n", 10, "at most `K` results")
	f.StringVar(&q.Language, "lang", "", "only files of this `LANGUAGE`")
	f.StringVar(&q.PathGlob, "path", "", "only paths that match `GLOB`, such as 'src/**/*.go'")
	f.StringVar(&mode, "mode", "hybrid", "`MODE`: hybrid, semantic or lexical")
	f.BoolVar(&q.Explain, "explain", false, "print each term of each score, the legs and their times")
	f.BoolVar(&batch, "batch", false, "read queries from standard input")
	return cmd
}

// snippetLines is how many lines of a result are shown.
const snippetLines = 3

func (a *app) search(ctx context.Context, q search.Query) error {
	return a.ask(ctx, func(d *door.Door, e *search.Engine) error {
		res, err := e.Search(ctx, q)
		if err != nil {
			return err
		}
		a.trace(res.Trace, q.Explain)
		if a.json {
			if err := a.printJSON(door.NewResults(res, q.Explain)); err != nil {
				return err
			}
		} else {
			a.printResults(d, res, q.Explain)
		}
		if len(res.Results) == 0 {
			return negative("nothing found")
		}
		return nil
	})
}

func (a *app) printResults(d *door.Door, res *search.Results, explain bool) {
	s := a.style
	for i, r := range res.Results {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		a.printPlace(d, r)
		a.printLines(door.Excerpt(r, res.Query, snippetLines))
		if explain {
			fmt.Fprintf(a.out, "        %s\n", s.dim(fmt.Sprintf("score %.4f, cosine %.3f, coverage %.2f", r.Score, r.Cosine, r.Coverage)))
			for _, t := range r.Terms {
				fmt.Fprintf(a.out, "        %s\n", s.dim(s.cut(fmt.Sprintf("%s %-8.4f %s", t.Op, t.Value, t.Name), 8)))
			}
		}
	}
}

// printPlace prints the line that says where a result is.
func (a *app) printPlace(d *door.Door, r search.Result) {
	fmt.Fprint(a.out, a.style.path(fmt.Sprintf("%s:%d-%d", d.Name(r.Path), r.Start, r.End)))
	if symbol := door.Symbol(r.Scope, r.Symbol); symbol != "" {
		fmt.Fprint(a.out, "  ", a.style.bold(door.Clean(symbol)))
	}
	fmt.Fprintln(a.out)
}

func (a *app) printLines(lines []door.SnippetLine) {
	for _, l := range lines {
		number := fmt.Sprintf("%6d  ", l.Number)
		fmt.Fprintln(a.out, strings.TrimRight(a.style.dim(number)+a.style.cut(l.Text, len(number)), " "))
	}
}

// trace says how an answer came about: always when a leg failed, in full with
// --verbose or --explain.
func (a *app) trace(t search.Trace, explain bool) {
	if a.quiet && !explain {
		return
	}
	if t.ModeUsed != t.ModeRequested {
		a.note("answered in %s mode: %s", t.ModeUsed, t.FallbackReason)
	}
	if !a.verbose && !explain {
		return
	}
	a.note("generation %d; candidates %s", t.Generation, door.Tally(t.Candidates, 20))
	var steps []string
	for _, s := range t.Timings {
		steps = append(steps, fmt.Sprintf("%s %.1f ms", s.Step, float64(s.Took.Microseconds())/1000))
	}
	if len(steps) > 0 {
		a.note("%s", strings.Join(steps, ", "))
	}
}

// maxBatchLine bounds a line of --batch, in bytes.
const maxBatchLine = 1 << 20

type batchQuery struct {
	ID    json.RawMessage `json:"id"`
	Query *string         `json:"query"`
	K     int             `json:"k"`
}

type batchResult struct {
	File   string  `json:"file"`
	Start  int     `json:"start"`
	End    int     `json:"end"`
	Score  float64 `json:"score"`
	Symbol string  `json:"symbol"`
}

type batchAnswer struct {
	ID      json.RawMessage `json:"id"`
	Results []batchResult   `json:"results"`
}

type batchError struct {
	ID    json.RawMessage `json:"id"`
	Error string          `json:"error"`
}

// batch answers the queries on standard input with one engine. A line that cannot be
// answered gets a line with its error.
func (a *app) batch(ctx context.Context, q search.Query) error {
	return a.ask(ctx, func(_ *door.Door, e *search.Engine) error {
		in := bufio.NewReaderSize(a.in, 64<<10)
		for {
			line, long, err := readLine(in, maxBatchLine)
			if err != nil && err != io.EOF {
				return fmt.Errorf("standard input cannot be read: %w", err)
			}
			if len(strings.TrimSpace(string(line))) > 0 || long {
				answer := a.batchLine(ctx, e, q, line, long)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				data, failed := json.Marshal(answer)
				if failed != nil {
					return failed
				}
				if _, failed := a.out.Write(append(data, '\n')); failed != nil {
					return failed
				}
			}
			if err == io.EOF {
				return nil
			}
		}
	})
}

func (a *app) batchLine(ctx context.Context, e *search.Engine, q search.Query, line []byte, long bool) any {
	null := json.RawMessage("null")
	if long {
		return batchError{null, fmt.Sprintf("the line is longer than %d bytes", maxBatchLine)}
	}
	var asked batchQuery
	if err := json.Unmarshal(line, &asked); err != nil {
		var id struct{ ID json.RawMessage }
		if json.Unmarshal(line, &id) != nil || id.ID == nil {
			id.ID = null
		}
		return batchError{id.ID, fmt.Sprintf("the line is not a query (%v); write {\"id\": 1, \"query\": \"…\"}", err)}
	}
	if asked.ID == nil {
		asked.ID = null
	}
	switch asked.ID[0] {
	case '{', '[', 't', 'f':
		return batchError{null, "the id is neither a number nor a string"}
	}
	if asked.Query == nil || strings.TrimSpace(*asked.Query) == "" {
		return batchError{asked.ID, "the query is empty"}
	}
	if asked.K < 0 || asked.K > 1000 {
		return batchError{asked.ID, fmt.Sprintf("k %d is out of range; use 1 to 1000", asked.K)}
	}
	q.Text = *asked.Query
	if asked.K > 0 {
		q.Limit = asked.K
	}
	res, err := e.Search(ctx, q)
	if err != nil {
		return batchError{asked.ID, oneLine(err)}
	}
	answer := batchAnswer{asked.ID, []batchResult{}}
	for _, r := range res.Results {
		answer.Results = append(answer.Results, batchResult{r.Path.Rel, r.Start, r.End, r.Score, r.Symbol})
	}
	return answer
}

// readLine reads a line without its break. Of a line over limit bytes the rest is
// passed over, and long is true.
func readLine(in *bufio.Reader, limit int) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			long = len(line) > limit+1
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		return line, long, err
	}
}
