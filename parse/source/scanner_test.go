package source

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestScannersKeepToTheirBuffers parses texts on which a grammar's C program, as it
// comes, ends the process or writes where it must not. A failure ends the test program.
func TestScannersKeepToTheirBuffers(t *testing.T) {
	texts := map[string][]string{
		"Ruby":   {"x = " + strings.Repeat("<<A,", 300) + "\n", strings.Repeat("%w(", 300)},
		"Kotlin": {strings.Repeat(`"${`, 1100)},
		"Scala":  {nested(700, "if a then")},
		"Python": {nested(700, "if a:"), strings.Repeat(`f"{`, 400)},
		"C#":     {strings.Repeat(`$"{`, 400)},
		"Swift":  {"let a = " + strings.Repeat("#", 300) + "\"x"},
	}
	for n := 200; n <= 1100; n += 20 {
		word := strings.Repeat("A", n)
		for _, language := range []string{"Ruby", "Shell", "PHP"} {
			texts[language] = append(texts[language], fmt.Sprintf("x = <<%s\nhello\n%[1]s\n", word), fmt.Sprintf("<?php $x = <<<%s\nhello\n%[1]s;\n", word))
		}
	}
	for n := 1000; n <= 1030; n++ { // two here-documents that fill the buffer just so
		for _, second := range []int{1, 2, 10, 100} {
			texts["Shell"] = append(texts["Shell"], fmt.Sprintf("cat <<%s <<%s\n", strings.Repeat("A", n-second), strings.Repeat("B", second)))
			texts["Ruby"] = append(texts["Ruby"], fmt.Sprintf("p <<%s, <<%s, <<%s\n", strings.Repeat("A", 250), strings.Repeat("B", 250), strings.Repeat("C", n-700)))
		}
	}
	for language, list := range texts {
		for _, text := range list {
			Parse(context.Background(), "a", language, []byte(text+"\nafter\n"))
		}
	}
	// What a text left behind does not change the next.
	definition := []byte("struct After {\n  func f() {}\n}\n")
	want := render(Parse(context.Background(), "a", "Swift", definition))
	Parse(context.Background(), "a", "Swift", []byte("let a = ###\"never closed"))
	if got := render(Parse(context.Background(), "a", "Swift", definition)); got != want {
		t.Errorf("after an open raw string:\n%s\nwant\n%s", got, want)
	}
}

// nested opens a block in a block, n times.
func nested(n int, opening string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + opening + "\n")
	}
	return b.String()
}
