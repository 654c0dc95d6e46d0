package index

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chinvex/chinvex/project"
)

func someFiles() []FileRow {
	var rows []FileRow
	for i := range 20 {
		rows = append(rows, FileRow{ID: uint32(2*i + 1), Path: project.Path{Repo: fmt.Sprintf("r%d", i%2), Rel: fmt.Sprintf("dir%d/file%d.go", i%3, i)}, Language: "Go",
			Class: Class(i), Lines: uint32(i), FirstChunk: uint32(10 * i), Chunks: 3, Terms: uint32(i), LastCommit: int64(1000 + i)})
	}
	return append(rows, FileRow{ID: 50, Path: project.Path{Repo: "r0", Rel: "dir0"}}, FileRow{ID: 51, Path: project.Path{Repo: "r0", Rel: "dir0-more/x"}})
}

func TestFileTable(t *testing.T) {
	rows := someFiles()
	table, err := OpenFiles(EncodeFiles(rows, 60))
	if err != nil {
		t.Fatal(err)
	}
	if table.Len() != len(rows) || table.Newest() != 1019 {
		t.Errorf("%d rows, newest %d", table.Len(), table.Newest())
	}
	for _, want := range rows {
		row, ok := table.Row(want.ID)
		if !ok || !cmp.Equal(table.At(row), want) {
			t.Errorf("row of %d: %+v", want.ID, table.At(row))
		}
		if got, ok := table.Find(want.Path); !ok || got.ID != want.ID {
			t.Errorf("Find(%v) = %v, %v", want.Path, got, ok)
		}
	}
	for _, id := range []uint32{0, 2, 59, 60, 1 << 31} {
		if _, ok := table.Row(id); ok {
			t.Errorf("id %d is alive", id)
		}
	}
	for i := 1; i < table.Len(); i++ {
		if !table.At(i - 1).Path.Less(table.At(i).Path) {
			t.Errorf("rows %d and %d are out of order", i-1, i)
		}
	}
	below := func(repo, rel string) (n int) {
		from, to := table.Below(project.Path{Repo: repo, Rel: rel})
		return to - from
	}
	if got := []int{below("r0", ""), below("r1", ""), below("r0", "dir0"), below("r0", "dir"), below("r2", "")}; !cmp.Equal(got, []int{12, 10, 4, 0, 0}) {
		t.Errorf("Below: %v", got)
	}
	if _, ok := table.Find(project.Path{Repo: "r0", Rel: "nowhere"}); ok {
		t.Error("found a file that is not there")
	}
}

// Damaged bytes are an error or readable, never a panic.
func FuzzOpenFiles(f *testing.F) {
	f.Add(EncodeFiles(someFiles(), 60))
	f.Add(EncodeFiles(nil, 0))
	f.Add([]byte(filesMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := OpenFiles(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		for i := range table.Len() {
			table.At(i)
			table.Find(table.At(i).Path)
		}
		table.Row(3)
	})
}

func TestChunkTable(t *testing.T) {
	var buf []byte
	want := []Chunk{{1, 2, 3, 4, 5, 6, 7}, {1 << 31, 1, 1, 0, 65535, 65535, 0}}
	for _, c := range want {
		buf = AppendChunk(buf, c)
	}
	table := ChunkTable(buf)
	if table.Len() != 2 || table.At(0) != want[0] || table.At(1) != want[1] || table.File(1) != 1<<31 {
		t.Errorf("%+v %+v", table.At(0), table.At(1))
	}
}
