package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/memory"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
)

// tool is one row of the table.
type tool struct {
	name, description string
	parameters        []mcp.ToolOption
	plain             bool           // needs no index
	writes            bool           // changes files
	meta              map[string]any // for Claude Code
	answer            func(context.Context, *call) (string, error)
}

// call is one call of a tool.
type call struct {
	mcp.CallToolRequest
	*door.Door
	engine *search.Engine // of its own; nil for a plain tool
	budget int            // tokens of four bytes
}

// Budgets in tokens of four bytes: a client puts results beyond 50,000 characters
// aside, where the model does not look.
const (
	defaultBudget = 4000
	leastBudget   = 200
	mostBudget    = 12000
)

// inSight has the client show a tool whole instead of listing its name only.
var inSight = map[string]any{"anthropic/alwaysLoad": true}

var budgetParameter = mcp.WithInteger("budget", mcp.Description("Most tokens in the answer"), mcp.DefaultNumber(defaultBudget), mcp.Min(leastBudget), mcp.Max(mostBudget))

func limitParameter(what string, n float64) mcp.ToolOption {
	return mcp.WithInteger("limit", mcp.Description("Most "+what), mcp.DefaultNumber(n), mcp.Min(1), mcp.Max(100))
}

var table = []tool{
	{
		name:        "search",
		description: "Find code by meaning or by name in the whole repository: a question (\"where are redirects followed\"), a concept, a half-remembered identifier. Returns ranked pieces of code with file and lines, definitions before uses. For every occurrence of an exact string use grep.",
		meta:        inSight,
		parameters: []mcp.ToolOption{
			mcp.WithString("query", mcp.Required(), mcp.Description("Words, a question, or a symbol's name")),
			limitParameter("results", 10),
			mcp.WithString("path", mcp.Description("Only here: a folder, a file, or a glob such as src/**/*.ts")),
			mcp.WithString("language", mcp.Description("Only this language, such as Go or TypeScript")),
			budgetParameter,
		},
		answer: searchTool,
	},
	{
		name:        "context",
		description: "Collect what to read before a change, in one call: the code that matches a task, the files that change together with it in git history, its tests, and the files of earlier commits about the same. Better than several searches at the start of a task.",
		meta:        inSight,
		parameters: []mcp.ToolOption{
			mcp.WithString("query", mcp.Required(), mcp.Description("The task, in a sentence")),
			budgetParameter,
		},
		answer: contextTool,
	},
	{
		name:        "related",
		description: "List the files that belong to a file, each with its reason: changed together in git history, its test, imports it, uses its symbols. Shows what else an edit may have to touch, which grep cannot find.",
		parameters: []mcp.ToolOption{
			mcp.WithString("path", mcp.Required(), mcp.Description("The file; it may be new")),
			limitParameter("files", 10),
			budgetParameter,
		},
		answer: relatedTool,
	},
	{
		name:        "refs",
		description: "Show where a symbol is defined and who uses it, with the function around each use, likely uses first. Unlike grep it passes over comments and strings, and says why a use is likely the one meant.",
		parameters: []mcp.ToolOption{
			mcp.WithString("symbol", mcp.Required(), mcp.Description("A name, such as parse or Parser.parse")),
			mcp.WithString("path", mcp.Description("The file whose definition is meant, when several share the name")),
			limitParameter("uses", 20),
			budgetParameter,
		},
		answer: refsTool,
	},
	{
		name:        "symbols",
		description: "Outline a file: what it defines, with lines and signatures. Tells which lines of a long file to read.",
		parameters: []mcp.ToolOption{
			mcp.WithString("path", mcp.Required(), mcp.Description("The file")),
			budgetParameter,
		},
		answer: symbolsTool,
	},
	{
		name:        "brief",
		description: "Show where the project stands: its objective and active work, rules and hazards, recent decisions, and what was committed since the last session. A session that begins without that knowledge starts here.",
		plain:       true,
		answer:      briefTool,
	},
	{
		name:        "status",
		description: "Show what is indexed, how fresh it is and what was left out. For when an answer looks outdated or a file is missing from one.",
		plain:       true,
		answer:      statusTool,
	},
	{
		name:        "memory_plan",
		description: "First step of updating the project's memory files (STATE, CONSTRAINTS, DECISIONS in docs/memory): returns the commits since the last update, what they changed, the files as they are, and what a proposal must look like. Use it when asked to update the memory, or when a piece of work is done and committed.",
		plain:       true,
		writes:      true, // into the git directory, what was planned
		meta:        map[string]any{"anthropic/maxResultSizeChars": mostPlan},
		parameters: []mcp.ToolOption{
			mcp.WithInteger("commits", mcp.Description("Most commits to read, the oldest first; a later plan goes on from there"), mcp.DefaultNumber(planCommits), mcp.Min(1), mcp.Max(planCommits)),
			repositoryParameter,
		},
		answer: planTool,
	},
	{
		name:        "memory_apply",
		description: "Second step: checks the proposal made from memory_plan against the contracts of the memory files and writes all three, or says every reason why not and writes none. Returns the difference; commits nothing.",
		plain:       true,
		writes:      true,
		parameters: []mcp.ToolOption{
			mcp.WithObject("proposal", mcp.Required(), mcp.Description("The JSON object that memory_plan asks for")),
			repositoryParameter,
		},
		answer: applyTool,
	},
}

// describe makes the schema that the client sees.
func (t tool) describe() mcp.Tool {
	options := append([]mcp.ToolOption{
		mcp.WithDescription(t.description),
		mcp.WithReadOnlyHintAnnotation(!t.writes),
		mcp.WithIdempotentHintAnnotation(true),
		mcp.WithDestructiveHintAnnotation(false), // no contract allows a loss, and git has the rest
		mcp.WithOpenWorldHintAnnotation(false),
	}, t.parameters...)
	described := mcp.NewTool(t.name, options...)
	if t.meta != nil {
		described.Meta = mcp.NewMetaFromMap(t.meta)
	}
	return described
}

func (t tool) call(ctx context.Context, p door.Place, r mcp.CallToolRequest) (string, error) {
	d, err := door.Find(p)
	if err != nil {
		return "", err
	}
	budget := min(max(r.GetInt("budget", defaultBudget), leastBudget), mostBudget)
	if t.plain {
		return t.answer(ctx, &call{r, d, nil, budget})
	}
	e, err := d.Open()
	if err != nil {
		return "", err
	}
	defer e.Close()
	return t.answer(ctx, &call{r, d, e, budget})
}

// text returns a required argument.
func (c *call) text(name string) (string, error) {
	s := c.GetString(name, "")
	if strings.TrimSpace(s) == "" {
		return "", fmt.Errorf("%s is empty; it must be a text", name)
	}
	return s, nil
}

func (c *call) limit(n int) int { return min(max(c.GetInt("limit", n), 1), 100) }

// page makes a page under the call's budget, with the notes that concern every answer.
func (c *call) page(t search.Trace) *page {
	p := &page{room: c.budget * 4}
	if t.ModeUsed != t.ModeRequested {
		p.notes = append(p.notes, fmt.Sprintf("Answered in %s mode: %s.", t.ModeUsed, door.Clean(t.FallbackReason)))
	}
	for _, r := range c.Repos {
		if behind := door.Behind(c.engine.Manifest(), r); behind != "" {
			p.notes = append(p.notes, "Lines may have moved: "+behind+".")
		}
	}
	return p
}

func (c *call) place(r search.Result) string {
	place := fmt.Sprintf("%s:%d-%d", c.Name(r.Path), r.Start, r.End)
	if symbol := door.Symbol(r.Scope, r.Symbol); symbol != "" {
		place += "  " + door.Clean(symbol)
	}
	return place
}

// piece makes a piece of a result: whole, or cut to its signature and best lines.
func (c *call) piece(r search.Result, query, head string) piece {
	var short []string
	for _, l := range door.Excerpt(r, query, 4) {
		short = append(short, fmt.Sprintf("%d: %s", l.Number, door.Clean(l.Text)))
	}
	return piece{head: head, whole: clean(r.Text), short: strings.Join(short, "\n")}
}

func searchTool(ctx context.Context, c *call) (string, error) {
	query, err := c.text("query")
	if err != nil {
		return "", err
	}
	q := search.Query{Text: query, Limit: c.limit(10), Language: c.GetString("language", "")}
	if path := c.GetString("path", ""); strings.ContainsAny(path, "*?[{") {
		q.PathGlob = path
	} else if path != "" && path != "." && path != "./" {
		p, err := c.Path(path)
		if err != nil {
			return "", err
		}
		q.Under = []project.Path{p}
	}
	res, err := c.engine.Search(ctx, q)
	if err != nil {
		return "", err
	}
	p := c.page(res.Trace)
	if len(res.Results) == 0 {
		return p.write(nil, "Nothing found in "+c.Context.Name+". Other words may find it; grep finds an exact string."), nil
	}
	var pieces []piece
	for _, r := range res.Results {
		pieces = append(pieces, c.piece(r, query, c.place(r)))
	}
	return p.write(pieces, ""), nil
}

func contextTool(ctx context.Context, c *call) (string, error) {
	query, err := c.text("query")
	if err != nil {
		return "", err
	}
	b, err := c.engine.Context(ctx, search.ContextQuery{Text: query, Unit: "tokens", Budget: c.budget})
	if err != nil {
		return "", err
	}
	p := c.page(b.Trace)
	p.cut = b.Cut
	if len(b.Items) == 0 {
		return p.write(nil, "Nothing found in "+c.Context.Name+" for this task. Other words may find it."), nil
	}
	var pieces []piece
	for _, item := range b.Items {
		pieces = append(pieces, c.piece(item.Result, query, fmt.Sprintf("%s  (%s: %s)", c.place(item.Result), item.Role, door.Clean(item.Reason))))
	}
	return p.write(pieces, ""), nil
}

func relatedTool(ctx context.Context, c *call) (string, error) {
	path, err := c.file()
	if err != nil {
		return "", err
	}
	res, err := c.engine.Related(ctx, search.RelatedQuery{Path: path, Limit: c.limit(10)})
	if err != nil {
		return "", err
	}
	p := c.page(res.Trace)
	if len(res.Files) == 0 {
		return p.write(nil, "No file is related to "+c.Name(path)+"."), nil
	}
	var pieces []piece
	for _, f := range res.Files {
		head := c.Name(f.Path)
		if f.Start > 0 {
			head += fmt.Sprintf(":%d", f.Start)
		}
		if f.Symbol != "" {
			head += "  " + door.Clean(f.Symbol)
		}
		pieces = append(pieces, piece{head: head + "  (" + door.Clean(strings.Join(f.Reasons, "; ")) + ")"})
	}
	return p.write(pieces, ""), nil
}

// file returns the file that the argument path names.
func (c *call) file() (project.Path, error) {
	path, err := c.text("path")
	if err != nil {
		return project.Path{}, err
	}
	return c.Path(path)
}

func refsTool(ctx context.Context, c *call) (string, error) {
	symbol, err := c.text("symbol")
	if err != nil {
		return "", err
	}
	q := search.RefsQuery{Name: symbol, Limit: c.limit(20)}
	if c.GetString("path", "") != "" {
		if q.File, err = c.file(); err != nil {
			return "", err
		}
	}
	res, err := c.engine.Refs(ctx, q)
	if err != nil {
		return "", err
	}
	p := c.page(res.Trace)
	if len(res.Definitions)+len(res.References) == 0 {
		return p.write(nil, "Nothing here defines or uses "+door.Line(symbol)+"."), nil
	}
	var pieces []piece
	for _, d := range res.Definitions {
		pieces = append(pieces, piece{head: fmt.Sprintf("%s:%d-%d  defines %s: %s", c.Name(d.Path), d.Start, d.End, door.Clean(door.Symbol(d.Scope, d.Name)), door.Clean(door.Signature(d.Signature)))})
	}
	for _, r := range res.References {
		in := ""
		if r.In != "" {
			in = "  in " + door.Clean(r.In)
		}
		pieces = append(pieces, piece{head: fmt.Sprintf("%s:%d%s  (%s)  %s", c.Name(r.Path), r.Line, in, r.Why, door.Clean(r.Text))})
	}
	if res.Total > len(res.References) {
		p.notes = append(p.notes, fmt.Sprintf("%d of %d uses in %d files; a larger limit shows more.", len(res.References), res.Total, res.Files))
	}
	return p.write(pieces, ""), nil
}

func symbolsTool(_ context.Context, c *call) (string, error) {
	path, err := c.file()
	if err != nil {
		return "", err
	}
	symbols, err := c.engine.Symbols(path)
	if err != nil {
		return "", err
	}
	p := c.page(search.Trace{})
	if len(symbols) == 0 {
		return p.write(nil, c.Name(path)+" defines no symbol."), nil
	}
	var pieces []piece
	for _, s := range symbols {
		pieces = append(pieces, piece{head: fmt.Sprintf("%d-%d  %s %s: %s", s.Start, s.End, s.Kind, door.Clean(door.Symbol(s.Scope, s.Name)), door.Clean(door.Signature(s.Signature)))})
	}
	return p.write(pieces, ""), nil
}

func briefTool(ctx context.Context, c *call) (string, error) {
	b, err := c.Brief(ctx, "", memory.DefaultBudget)
	if err != nil {
		return "", err
	}
	return b.Text(), nil
}

func statusTool(_ context.Context, c *call) (string, error) {
	s, err := door.NewStatus(c.Door, nil)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range s.Rows() {
		fmt.Fprintf(&b, "%s: %s\n", r.Label, r.Text)
	}
	return b.String(), nil
}
