// Command hook, installed as chinvex-hook, answers one event of a coding agent: a small
// binary that starts fast. It reads the event on standard input, prints one JSON object
// or nothing, and exits with 0 whatever happens.
//
//	chinvex-hook [--home DIR] [--client claude|codex|cursor|gemini] [EVENT]
//
// The event's name is in its JSON; the argument is ignored.
package main

import (
	"context"
	"os"
	"runtime/debug"
	"strings"

	"github.com/chinvex/chinvex/client"
	"github.com/chinvex/chinvex/dispatch"
	"github.com/chinvex/chinvex/project"
)

func main() {
	debug.SetGCPercent(400) // it lives for milliseconds and needs little memory
	options := map[string]string{}
	for args := os.Args[1:]; len(args) > 0; args = args[1:] {
		name, value, whole := strings.Cut(args[0], "=")
		if !whole && len(args) > 1 && (name == "--home" || name == "--client") {
			value, args = args[1], args[1:]
		}
		options[name] = value
	}
	// Without a home or an agent that is known there is nothing to say, and nobody to
	// tell why: an agent takes what a hook prints for its own.
	home, err := project.OpenHome(options["--home"])
	if err != nil {
		return
	}
	agent, err := client.ByName(options["--client"])
	if err != nil {
		return
	}
	os.Exit(dispatch.Run(context.Background(), os.Stdin, os.Stdout, dispatch.Env{Home: home, Client: agent, ProjectDir: os.Getenv("CLAUDE_PROJECT_DIR")}))
}
