package rules

import (
	"regexp"
	"sync"
)

// expression returns what compiles a regular expression when it is first asked for.
// Each start of chinvex would pay for all of them otherwise, some milliseconds.
func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
