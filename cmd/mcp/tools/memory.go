package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/memory"
	"github.com/chinvex/chinvex/memory/maintainer"
)

// What a plan shows is less than on the command line: it goes into a session, whose
// model can look at commits itself.
const (
	planCommits = 50
	planFiles   = 10
	planTexts   = 20 << 10
	planExcerpt = 2 << 10
	mostPlan    = 200_000 // characters, beyond which the client puts the plan into a file
)

var repositoryParameter = mcp.WithString("repository", mcp.Description("The repository's name, where there are several; default: the one here"))

// memoryOptions say whose memory a call is about.
func (c *call) memoryOptions() (maintainer.Options, error) {
	r, err := c.Repository(c.GetString("repository", ""))
	if err != nil {
		return maintainer.Options{}, err
	}
	return c.Memory(r)
}

func planTool(ctx context.Context, c *call) (string, error) {
	o, err := c.memoryOptions()
	if err != nil {
		return "", err
	}
	o.Limits = maintainer.Limits{Commits: min(max(c.GetInt("commits", planCommits), 1), planCommits), Files: planFiles, TextBytes: planTexts, Excerpt: planExcerpt}
	work, err := maintainer.Plan(ctx, o)
	if errors.Is(err, maintainer.ErrNothing) {
		return "Nothing to do: the memory files of " + door.Line(o.Repo.Name) + " cover every commit.", nil
	}
	if err != nil {
		return "", err
	}
	task, inputs := memory.Prompt(&work.Inputs, nil, nil)
	return "Make the proposal that is asked for below, but give it to memory_apply instead of answering with it. " +
		"Where the inputs are too short to tell why something was done, look at the commit itself.\n\n" + task + "\n" + inputs, nil
}

func applyTool(ctx context.Context, c *call) (string, error) {
	o, err := c.memoryOptions()
	if err != nil {
		return "", err
	}
	p, err := c.proposal()
	if err != nil {
		return "", err
	}
	result, err := maintainer.Apply(ctx, o, p)
	switch {
	case errors.Is(err, maintainer.ErrNothing):
		return "Nothing to do: the memory files of " + door.Line(o.Repo.Name) + " cover every commit.", nil
	case errors.Is(err, maintainer.ErrRefused):
		var reasons strings.Builder
		for _, p := range result.Refused {
			fmt.Fprintf(&reasons, "\n- %s", p)
		}
		return "", fmt.Errorf("nothing was written: the proposal breaks the contracts of the memory files. Correct each of these and call memory_apply again:%s", &reasons)
	case err != nil:
		return "", err
	}
	var b strings.Builder
	if len(result.Changed) == 0 {
		b.WriteString("The files say it all already; nothing was changed.\n")
	} else {
		fmt.Fprintf(&b, "Written: %s. Nothing was committed.\n", strings.Join(result.Changed, ", "))
	}
	if result.Remaining > 0 {
		fmt.Fprintf(&b, "%s left to read: call memory_plan again.\n", door.Plural(result.Remaining, "commit"))
	}
	for _, why := range result.Review {
		fmt.Fprintf(&b, "For manual review: %s.\n", why)
	}
	return b.String() + "\n" + clean(result.Diff), nil
}

// proposal returns the argument of that name, which some models write as a text.
func (c *call) proposal() (*memory.Proposal, error) {
	switch p := c.GetArguments()["proposal"].(type) {
	case nil:
		return nil, errors.New("proposal is missing; it must be the JSON object that memory_plan asks for")
	case string:
		return memory.ParseProposal([]byte(p))
	default:
		data, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		return memory.ParseProposal(data)
	}
}
