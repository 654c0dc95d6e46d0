package source

/*
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A language of tree-sitter (ABI 14), whose scanner is the part that can be replaced.
typedef struct {
	uint32_t counts[9];
	uint16_t longest_alias;
	const void *tables[15];
	uint16_t keyword;
	struct {
		const void *states, *symbols;
		void *(*create)(void);
		void (*destroy)(void *);
		bool (*scan)(void *, void *, const bool *);
		unsigned (*serialize)(void *, char *);
		void (*deserialize)(void *, const char *, unsigned);
	} scanner;
	const void *primary_states;
} language;

// Scanners write their state into 1024 bytes after each token and read it back before
// the next. What does not fit, or would not be read back, is forgotten, as a scanner
// does itself where it notices.
enum { most_state = 1000, state_room = 4096 };

static unsigned bounded(unsigned (*serialize)(void *, char *), void *scanner, char *buffer, bool (*readable)(const uint8_t *, unsigned)) {
	char state[state_room];
	unsigned n = serialize(scanner, state);
	if (n > most_state || (readable && !readable((const uint8_t *)state, n))) return 0;
	memcpy(buffer, state, n);
	return n;
}

// ruby_readable walks a state as Ruby's scanner will, which counts a here-document's
// word in one byte and gives the program up where the sum is not right.
static bool ruby_readable(const uint8_t *state, unsigned n) {
	if (n == 0) return true;
	unsigned at = 1 + 5 * state[0];
	if (at >= n) return false;
	for (unsigned left = state[at++]; left > 0; left--) {
		if (at + 4 > n) return false;
		at += 4 + state[at + 3];
	}
	return at == n;
}

// BOUNDED defines a copy of a language whose scanner keeps to its buffer.
#define BOUNDED(name, readable) \
	const language *tree_sitter_##name(void); \
	static language name; \
	static unsigned serialize_##name(void *scanner, char *buffer) { \
		return bounded(tree_sitter_##name()->scanner.serialize, scanner, buffer, readable); \
	} \
	static void *bounded_##name(void) { \
		name = *tree_sitter_##name(); \
		name.scanner.serialize = serialize_##name; \
		return &name; \
	}

BOUNDED(bash, NULL)
BOUNDED(kotlin, NULL)
BOUNDED(ruby, ruby_readable)

// Swift's scanner asks for no memory and uses four bytes of it, and does not begin a
// text anew.
const language *tree_sitter_swift(void);
static language swift;
static void *create_swift(void) { return calloc(1, 64); }
static void deserialize_swift(void *scanner, const char *state, unsigned n) {
	static const char start[4];
	tree_sitter_swift()->scanner.deserialize(scanner, n < 4 ? start : state, 4);
}
static void *bounded_swift(void) {
	swift = *tree_sitter_swift();
	swift.scanner.create = create_swift;
	swift.scanner.deserialize = deserialize_swift;
	return &swift;
}
*/
import "C"

import (
	"sync"

	sitter "github.com/smacker/go-tree-sitter"
	_ "github.com/smacker/go-tree-sitter/bash"
	_ "github.com/smacker/go-tree-sitter/kotlin"
	_ "github.com/smacker/go-tree-sitter/ruby"
	_ "github.com/smacker/go-tree-sitter/swift"
)

// Languages whose scanners, as they come, end the program or write where they must not
// on some texts: a Ruby here-document with a word of 300 letters, a Kotlin string nested
// a thousand times, a shell script with many here-documents, any Swift.
var (
	boundedBash   = sync.OnceValue(func() *sitter.Language { return sitter.NewLanguage(C.bounded_bash()) })
	boundedKotlin = sync.OnceValue(func() *sitter.Language { return sitter.NewLanguage(C.bounded_kotlin()) })
	boundedRuby   = sync.OnceValue(func() *sitter.Language { return sitter.NewLanguage(C.bounded_ruby()) })
	boundedSwift  = sync.OnceValue(func() *sitter.Language { return sitter.NewLanguage(C.bounded_swift()) })
)
