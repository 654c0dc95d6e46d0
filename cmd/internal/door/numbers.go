package door

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Count writes a number with commas between the thousands.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes a number of things; an s makes the plural.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(n) + " " + what + "s"
}

// Duration writes a time span with as much as a reader needs.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Bytes writes a size in decimal units.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1000)
	case n < 1000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1000_000)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1000_000_000)
}

// Ago says how long ago a time was.
func Ago(t time.Time) string {
	d := time.Since(t)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return Plural(int(d.Minutes()), "minute") + " ago"
	case d < 48*time.Hour:
		return Plural(int(d.Hours()), "hour") + " ago"
	}
	return Plural(int(d.Hours()/24), "day") + " ago"
}

// Tally lists the n largest counts, ties by name, and how many more there are.
func Tally(counts map[string]int, n int) string {
	keys := make([]string, 0, len(counts))
	for k, n := range counts {
		if n > 0 {
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		if counts[keys[i]] != counts[keys[j]] {
			return counts[keys[i]] > counts[keys[j]]
		}
		return keys[i] < keys[j]
	})
	more := len(keys) - n
	keys = keys[:min(len(keys), n)]
	for i, k := range keys {
		keys[i] = Count(counts[k]) + " " + k
	}
	if more > 0 {
		keys = append(keys, fmt.Sprintf("%d more", more))
	}
	return strings.Join(keys, ", ")
}
