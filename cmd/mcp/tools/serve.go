// Package tools is the MCP server: the table of tools and how it is served over
// standard input and output.
package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/chinvex/chinvex/claude"
	"github.com/chinvex/chinvex/cmd/internal/door"
	"github.com/chinvex/chinvex/project"
)

const instructions = `chinvex holds an index of this repository, its symbols and its git history. search finds code by meaning or name, refs the uses of a symbol, related the files that change with a file, context everything around a task. Paths are relative to the repository's root. For an exact string use grep.`

// New makes the server. An empty p.Dir means $CLAUDE_PROJECT_DIR, else the current
// directory. Context and index are looked up by each call: one that appears later, or
// a newer generation, is used at once, and calls share nothing.
func New(p door.Place) *server.MCPServer {
	p.FromRoot = true
	if p.Dir == "" {
		p.Dir = os.Getenv("CLAUDE_PROJECT_DIR")
	}
	if p.Dir == "" {
		p.Dir, _ = os.Getwd() // gone: then only --context finds one
	}
	s := server.NewMCPServer("chinvex", project.Version, server.WithInstructions(instructions), server.WithRecovery())
	for _, t := range table {
		s.AddTool(t.describe(), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := t.call(ctx, p, r)
			if err != nil {
				return mcp.NewToolResultError(claude.Harmless(clean(err.Error()))), nil
			}
			return mcp.NewToolResultText(claude.Harmless(text)), nil
		})
	}
	return s
}

// clean makes the lines of a text printable.
func clean(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = door.Clean(l)
	}
	return strings.Join(lines, "\n")
}

// Serve answers until in ends or ctx does. Faults of the protocol go to logs.
func Serve(ctx context.Context, p door.Place, in io.Reader, out, logs io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &answers{w: out, idle: make(chan struct{}, 1)}
	s := server.NewStdioServer(New(p))
	s.SetErrorLogger(log.New(logs, "chinvex mcp: ", 0))
	messages, feed := io.Pipe()
	defer messages.Close()
	go func() {
		err := w.forward(in, feed)
		w.drain(ctx) // answers under way would be given up with the input
		feed.CloseWithError(err)
	}()
	err := s.Listen(ctx, messages, w)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// answers writes whole lines, and knows how many requests have none yet.
type answers struct {
	w       io.Writer
	mu      sync.Mutex
	pending int
	idle    chan struct{} // a token when pending became 0
}

// forward passes messages on, a line each, but for server/discover: Claude Code sends
// it before initialize and takes an error to mean the handshake that it knows, which
// mcp-go's answer would skip.
func (a *answers) forward(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			known := json.Unmarshal(line, &m) == nil && m.Method != "" && m.ID != nil
			if known && m.Method == "server/discover" {
				if err := a.refuse(m.ID); err != nil {
					return err
				}
			} else {
				if known {
					a.count(1)
				}
				if line[len(line)-1] != '\n' {
					line = append(line, '\n')
				}
				if _, err := out.Write(line); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
}

func (a *answers) refuse(id json.RawMessage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := fmt.Fprintf(a.w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"server/discover is not offered; use initialize"}}`+"\n", id, mcp.METHOD_NOT_FOUND)
	return err
}

func (a *answers) count(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending += n; a.pending <= 0 {
		select {
		case a.idle <- struct{}{}:
		default:
		}
	}
}

func (a *answers) Write(line []byte) (int, error) {
	a.mu.Lock()
	n, err := a.w.Write(line)
	a.mu.Unlock()
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) == nil && m.ID != nil && m.Method == "" {
		a.count(-1)
	}
	return n, err
}

// drainTime bounds drain: a request that its client cancelled never has an answer.
const drainTime = 10 * time.Second

// drain waits until every request has its answer.
func (a *answers) drain(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, drainTime)
	defer stop()
	for {
		a.mu.Lock()
		pending := a.pending
		a.mu.Unlock()
		if pending <= 0 {
			return
		}
		select {
		case <-a.idle:
		case <-ctx.Done():
			return
		}
	}
}
