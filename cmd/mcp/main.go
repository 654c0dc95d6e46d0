// Command mcp, installed as chinvex-mcp, is the MCP server on standard input and
// output. `chinvex mcp` is the same.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/cmd/mcp/tools"
)

func main() {
	var p door.Place
	flag.StringVar(&p.Context, "context", "", "the context `NAME` (default: the one that claims $CLAUDE_PROJECT_DIR, else the current directory)")
	flag.StringVar(&p.Home, "home", "", "the state directory `DIR` (default $CHINVEX_HOME, else ~/.chinvex)")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "chinvex-mcp: %q is not expected; it takes no argument\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := tools.Serve(ctx, p, os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "chinvex-mcp: %v\n", err)
		os.Exit(1)
	}
}
