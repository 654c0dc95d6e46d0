// Command hook, installed as chinvex-hook, answers one event of Claude Code: a small
// binary that starts fast. It reads the event on standard input, prints one JSON object
// or nothing, and exits with 0 whatever happens.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/chinvex/chinvex/dispatch"
	"github.com/chinvex/chinvex/project"
)

func main() {
	debug.SetGCPercent(400) // it lives for milliseconds and needs little memory
	home, err := project.OpenHome("")
	if err != nil {
		return // no home, no context, nothing to say
	}
	os.Exit(dispatch.Run(context.Background(), os.Stdin, os.Stdout, dispatch.Env{Home: home, ProjectDir: os.Getenv("CLAUDE_PROJECT_DIR")}))
}
