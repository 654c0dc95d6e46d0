package source

/*
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

// The part of tree-sitter's interface (ABI 14) that walking needs. The functions
// themselves are linked with the binding; it offers no header to other packages.
typedef struct { uint32_t context[4]; const void *id; const void *tree; } TSNode;
typedef struct { const void *tree; const void *id; uint32_t context[3]; } TSTreeCursor;
TSTreeCursor ts_tree_cursor_new(TSNode);
void ts_tree_cursor_delete(TSTreeCursor *);
TSNode ts_tree_cursor_current_node(const TSTreeCursor *);
uint16_t ts_tree_cursor_current_field_id(const TSTreeCursor *);
bool ts_tree_cursor_goto_parent(TSTreeCursor *);
bool ts_tree_cursor_goto_next_sibling(TSTreeCursor *);
bool ts_tree_cursor_goto_first_child(TSTreeCursor *);
uint16_t ts_node_symbol(TSNode);
uint32_t ts_node_start_byte(TSNode);
uint32_t ts_node_end_byte(TSNode);
bool ts_node_is_named(TSNode);
bool ts_node_is_missing(TSNode);

typedef struct {
	uint32_t start, end; // bytes
	int32_t parent;      // index of the parent, -1 for the root
	int32_t next;        // index after the last descendant
	uint16_t symbol, field;
} flat_node;

// flatten lists the named nodes below root in preorder, root first. It needs one
// call from Go instead of several a node, and no recursion however deep the tree.
// The result is NULL when memory ran out; else the caller frees it.
static flat_node *flatten(TSNode root, int32_t *count) {
	int32_t n = 0, size = 4096, open = -1;
	flat_node *nodes = malloc(size * sizeof *nodes);
	if (!nodes) return NULL;
	TSTreeCursor cursor = ts_tree_cursor_new(root);
	for (;;) {
		TSNode node = ts_tree_cursor_current_node(&cursor);
		bool kept = n == 0 || (ts_node_is_named(node) && !ts_node_is_missing(node));
		if (kept) {
			if (n == size) {
				flat_node *more = realloc(nodes, (size *= 2) * sizeof *nodes);
				if (!more) { free(nodes); ts_tree_cursor_delete(&cursor); return NULL; }
				nodes = more;
			}
			nodes[n] = (flat_node){ts_node_start_byte(node), ts_node_end_byte(node), open, n + 1,
				ts_node_symbol(node), ts_tree_cursor_current_field_id(&cursor)};
			n++;
		}
		// Only named nodes have children that matter.
		if (kept && ts_tree_cursor_goto_first_child(&cursor)) {
			open = n - 1;
			continue;
		}
		while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
			if (open < 0 || !ts_tree_cursor_goto_parent(&cursor)) {
				ts_tree_cursor_delete(&cursor);
				*count = n;
				return nodes;
			}
			nodes[open].next = n;
			open = nodes[open].parent;
		}
	}
}
*/
import "C"

import (
	"context"
	"errors"
	"sync"
	"time"
	"unsafe"

	sitter "github.com/smacker/go-tree-sitter"
)

// node is one named node of a syntax tree that lies in a slice in preorder, so
// that the descendants of nodes[i] are nodes[i+1:nodes[i].next].
type node struct {
	start, end    uint32 // byte range
	parent        int32  // -1 for the root
	next          int32
	symbol, field uint16
}

// parseLimit is the time that one file may take; minified or broken text can cost
// seconds where source code costs milliseconds.
const parseLimit = 2 * time.Second

var (
	errTimeout = errors.New("parsing timed out after 2s")
	errMemory  = errors.New("no memory for the syntax tree")
)

var parsers = sync.Pool{New: func() any { return sitter.NewParser() }}

// syntaxTree parses text and calls use with its named nodes, which are valid only
// during that call.
func syntaxTree(ctx context.Context, g *grammar, text []byte, use func([]node)) error {
	limit := parseLimit
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if limit <= 0 {
		return context.DeadlineExceeded
	}
	parser := parsers.Get().(*sitter.Parser)
	defer parsers.Put(parser)
	parser.SetLanguage(g.language())
	// The operation limit instead of the context: a context that ends just after
	// a parse would leave the pooled parser cancelled.
	parser.SetOperationLimit(int(limit.Microseconds()))
	if g.reset != "" {
		g.alone.Lock()
		defer g.alone.Unlock()
		if tree, err := parser.ParseCtx(context.Background(), nil, []byte(g.reset)); err == nil {
			tree.Close()
		}
	}
	tree, err := parser.ParseCtx(context.Background(), nil, text)
	if err != nil {
		parser.Reset()
		if errors.Is(err, sitter.ErrOperationLimit) {
			return errTimeout
		}
		return err
	}
	defer tree.Close()
	// The binding's Node starts with the C node and has no accessor for it. A copy,
	// because what follows it are Go pointers, which C must not be shown.
	root := *(*C.TSNode)(unsafe.Pointer(tree.RootNode()))
	var count C.int32_t
	flat := C.flatten(root, &count)
	if flat == nil {
		return errMemory
	}
	defer C.free(unsafe.Pointer(flat))
	use(unsafe.Slice((*node)(unsafe.Pointer(flat)), int(count)))
	return nil
}
