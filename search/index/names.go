package index

import (
	"path"
	"strings"

	"github.com/chinvex/chinvex/parse/words"
)

// Besides its words, the first chunk of a file has terms for the file's name as a whole,
// by which the file is found without looking through the chunks that mention it. No text
// gives such a term: they begin with a control character.
const (
	nameMark   = "\x01" // the file's name without extension, folded
	folderMark = "\x02" // the folder that the file stands for, folded
	testedMark = "\x03" // the name without what marks a test, folded
)

// NameTerm is the term of the files with a name, in any case and spelling: HttpClient
// finds http_client.rs.
func NameTerm(name string) string { return nameMark + Fold(name) }

// FolderTerm is the term of the files that stand for the folder of a name.
func FolderTerm(name string) string { return folderMark + Fold(name) }

// TestedTerm is the term of the files that have a name once what marks a test is taken
// off; name comes from TestedName.
func TestedTerm(name string) string { return testedMark + name }

// nameTerms returns the terms of a file's name.
func nameTerms(rel string) []string {
	terms := []string{NameTerm(Stem(rel))}
	if folder := FolderOf(rel); folder != "" {
		terms = append(terms, FolderTerm(path.Base(folder)))
	}
	if tested, _ := TestedName(rel); tested != "" {
		terms = append(terms, TestedTerm(tested))
	}
	return terms
}

// AddNameTerms adds the terms of a file's name to those of its first chunk.
func AddNameTerms(terms map[string]uint64, rel string) {
	for _, t := range nameTerms(rel) {
		terms[t] = Counts{Stem: 1}.Pack()
	}
}

// Stem is a file's name up to its first dot (after a leading one).
func Stem(rel string) string {
	base := path.Base(rel)
	if dot := strings.IndexByte(base[1:], '.'); dot >= 0 {
		return base[:dot+1]
	}
	return base
}

// Fold brings the spellings of a name together: lower case, no separators.
func Fold(s string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(s, "_", ""), "-", ""))
}

// FolderOf returns the folder that a file stands for when it is imported: where the
// language imports folders (Go), or the file is its folder's entry. "" for other files.
func FolderOf(rel string) string {
	dir := path.Dir(rel)
	if dir == "." {
		return ""
	}
	switch Stem(rel) {
	case "index", "__init__", "mod", "lib", "init", "main":
		return dir
	}
	if path.Ext(rel) == ".go" {
		return dir
	}
	return ""
}

// TestedName returns a file's name without what marks a test, folded, and whether it was
// marked: test_http_client.py and HttpClientTest.java give httpclient.
func TestedName(rel string) (name string, marked bool) {
	base := path.Base(rel)
	marked = strings.Contains(base, ".test.") || strings.Contains(base, ".spec.")
	parts := words.Parts(Stem(rel))
	for len(parts) > 1 {
		switch {
		case isTestWord(parts[0]):
			parts, marked = parts[1:], true
		case isTestWord(parts[len(parts)-1]):
			parts, marked = parts[:len(parts)-1], true
		default:
			return strings.Join(parts, ""), marked
		}
	}
	return strings.Join(parts, ""), marked
}

func isTestWord(s string) bool {
	return s == "test" || s == "tests" || s == "spec" || s == "specs" || s == "testing"
}
