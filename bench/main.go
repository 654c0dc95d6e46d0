// Command bench ingests checkouts and prints what came of it: files, chunks, symbols,
// references, pairs, times by stage, peak memory and size on disk; with -queries also
// how long searches take in process. Runs worth keeping are in bench/runs.
//
//	go run ./bench [-queries N] [-bin DIR] [-out FILE.json] DIR…
//
// With -bin, a folder with chinvex and chinvex-hook, it also times whole processes: the
// hook on events about the checkout's own files, and searches. Each DIR is ingested by a process of its own, in a temporary home, so that peak
// memory is the ingest's.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/search"
	"github.com/chinvex/chinvex/search/ingest"
)

// run is one measured checkout.
type run struct {
	Repository string             `json:"repository"`
	Commit     string             `json:"commit"`
	Date       string             `json:"date"`
	Machine    string             `json:"machine"`
	Files      int                `json:"files"`
	TextBytes  int64              `json:"text_bytes"`
	Chunks     int                `json:"chunks"`
	Symbols    int                `json:"symbols"`
	References int                `json:"references"`
	Pairs      int                `json:"pairs"`
	Commits    int                `json:"commits"`
	LeftOut    map[string]int     `json:"left_out"`
	Seconds    float64            `json:"ingest_seconds"` // whole process
	CPUSeconds float64            `json:"ingest_cpu_seconds"`
	Stages     map[string]float64 `json:"stage_seconds"`
	PeakMiB    float64            `json:"peak_mib"`
	IndexBytes int64              `json:"index_bytes"`
	SizeRatio  float64            `json:"index_to_text"`
	NoChange   float64            `json:"no_change_seconds"`   // second ingest, in process
	Refresh    float64            `json:"refresh_one_file_ms"` // median of 9, in process, the file changed each time
	SearchP50  float64            `json:"search_ms_p50"`       // in process, engine opened once
	SearchP95  float64            `json:"search_ms_p95"`
	OpenP50    float64            `json:"open_and_search_ms_p50"` // in process, engine opened each time

	Processes map[string]timing `json:"processes,omitempty"` // whole processes, by what they do
}

// timing is of whole processes, milliseconds from before the start to after the end.
type timing struct {
	P50     float64 `json:"ms_p50"`
	P95     float64 `json:"ms_p95"`
	Runs    int     `json:"runs"`
	Answers int     `json:"answers"` // runs that printed something
}

func main() {
	queries := flag.Int("queries", 200, "searches to time in each index; their texts are names that it defines and subjects of its commits")
	out := flag.String("out", "", "file for the figures as JSON")
	bin := flag.String("bin", "", "folder with chinvex and chinvex-hook to time as whole processes")
	child := flag.String("ingest", "", "home of the process that ingests (used by bench itself)")
	flag.Parse()
	if *child != "" {
		exitOn(ingestOnce(*child, flag.Arg(0)))
		return
	}
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "bench: name one or more checkouts to ingest")
		os.Exit(2)
	}
	var runs []run
	for _, dir := range flag.Args() {
		r, err := measure(dir, *queries, *bin)
		exitOn(err)
		r.print()
		runs = append(runs, *r)
	}
	if *out != "" {
		data, err := json.MarshalIndent(runs, "", "  ")
		exitOn(err)
		exitOn(os.WriteFile(*out, append(data, '\n'), 0o644))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

const contextName = "bench"

func options(home string) (ingest.Options, error) {
	c, err := (project.Home{Dir: home}).Context(contextName)
	if err != nil {
		return ingest.Options{}, err
	}
	s, err := project.Resolve(c, nil, nil)
	if err != nil {
		return ingest.Options{}, err
	}
	return ingest.Options{Context: c, Settings: &s.Settings}, nil
}

// ingestOnce is what the child process does; it prints the report.
func ingestOnce(home, dir string) error {
	c, err := (project.Home{Dir: home}).Create(contextName)
	if err != nil {
		return err
	}
	if _, _, err = c.Claim(dir); err == nil {
		err = c.Save()
	}
	if err != nil {
		return err
	}
	o, err := options(home)
	if err != nil {
		return err
	}
	report, err := ingest.Ingest(context.Background(), o)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

func measure(dir string, queries int, bin string) (*run, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "chinvex-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-ingest", home, dir)
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("ingest of %s: %w", dir, err)
	}
	took := time.Since(start)
	var report ingest.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		return nil, err
	}
	r := &run{
		Repository: filepath.Base(dir), Date: time.Now().UTC().Format("2006-01-02"), Machine: machine(),
		Files: report.Stats.LiveFiles, TextBytes: report.Stats.TextBytes, Chunks: report.Stats.LiveChunks, Symbols: report.Stats.LiveSymbols,
		LeftOut: report.LeftOut, Seconds: took.Seconds(), CPUSeconds: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), Stages: map[string]float64{},
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.PeakMiB = float64(usage.Maxrss) / 1024
	}
	for _, s := range report.Stages {
		r.Stages[s.Name] += s.Took.Seconds()
	}
	o, err := options(home)
	if err != nil {
		return nil, err
	}
	if r.IndexBytes, err = size(o.Context.IndexDir()); err != nil {
		return nil, err
	}
	r.SizeRatio = float64(r.IndexBytes) / float64(max(r.TextBytes, 1))

	start = time.Now()
	again, err := ingest.Ingest(context.Background(), o)
	if err != nil {
		return nil, err
	}
	if again.Published {
		return nil, fmt.Errorf("a second ingest of %s found something to do: %+v", dir, again)
	}
	r.NoChange = time.Since(start).Seconds()
	if err := r.search(o, queries); err != nil {
		return nil, err
	}
	if bin != "" {
		if err := r.processes(home, dir, bin, o); err != nil {
			return nil, err
		}
	}
	return r, r.refresh(o)
}

// search times queries that the index itself suggests.
func (r *run) search(o ingest.Options, n int) error {
	e, err := search.Open(o.Context.IndexDir(), o.Settings, search.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	r.Commit = e.Manifest().Repos[0].Head
	if r.References, r.Pairs, r.Commits, err = e.Reader().Totals(); err != nil {
		return err
	}
	texts, err := suggestions(e, n)
	if err != nil || len(texts) == 0 {
		return err
	}
	var warm, cold []float64
	for _, text := range texts {
		start := time.Now()
		if _, err := e.Search(context.Background(), search.Query{Text: text}); err != nil {
			return err
		}
		warm = append(warm, milliseconds(start))
		start = time.Now()
		fresh, err := search.Open(o.Context.IndexDir(), o.Settings, search.Options{})
		if err != nil {
			return err
		}
		_, err = fresh.Search(context.Background(), search.Query{Text: text})
		fresh.Close()
		if err != nil {
			return err
		}
		cold = append(cold, milliseconds(start))
	}
	r.SearchP50, r.SearchP95, r.OpenP50 = quantile(warm, .5), quantile(warm, .95), quantile(cold, .5)
	return nil
}

// suggestions returns half commit subjects, half names of symbols, spread evenly.
func suggestions(e *search.Engine, n int) ([]string, error) {
	m := e.Manifest()
	var out []string
	for i := range n / 2 {
		if m.Commits > 1 {
			id := 1 + uint32(i)*(m.Commits-1)/uint32(n/2+1)
			commits, err := e.Reader().CommitsByID([]uint32{id})
			if err != nil {
				return nil, err
			}
			for _, c := range commits {
				out = append(out, c.Subject)
			}
		}
		id := 1 + uint32(i)*(m.Symbols-1)/uint32(n/2+1)
		symbols, err := e.Reader().SymbolsByID([]uint32{id})
		if err != nil {
			return nil, err
		}
		for _, s := range symbols {
			out = append(out, s.Name)
		}
	}
	return out, nil
}

// refresh times the update of one changed file of about 2,000 lines, in a copy of the
// repository's largest such file that is not part of the checkout.
func (r *run) refresh(o ingest.Options) error {
	e, err := search.Open(o.Context.IndexDir(), o.Settings, search.Options{})
	if err != nil {
		return err
	}
	files := e.Reader().Files
	best, bestLines := "", 0
	for i := range files.Len() {
		f := files.At(i)
		if lines := int(f.Lines); lines <= 2000 && lines > bestLines && f.Chunks > 10 {
			best, bestLines = f.Path.Rel, lines
		}
	}
	e.Close()
	if best == "" {
		return nil
	}
	// The checkout stays as it is: the file is copied into a repository of its own,
	// which the context claims as well.
	dir, err := os.MkdirTemp("", "chinvex-bench-file-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text, err := os.ReadFile(filepath.Join(o.Context.Includes.Repos[0].Root, best))
	if err != nil {
		return err
	}
	repo, _, err := o.Context.Claim(dir)
	if err != nil {
		return err
	}
	p, ok := project.NewPath(repo.Name, filepath.Base(best))
	if !ok {
		return fmt.Errorf("no path: %s", best)
	}
	var times []float64
	for i := range 9 {
		text = append(text, fmt.Sprintf("\n# edit %d\n", i)...)
		if err := os.WriteFile(repo.Abs(p), text, 0o644); err != nil {
			return err
		}
		start := time.Now()
		if _, err := ingest.Refresh(context.Background(), o, []project.Path{p}); err != nil {
			return err
		}
		times = append(times, milliseconds(start))
	}
	r.Refresh = quantile(times, .5)
	return nil
}

func (r *run) print() {
	fmt.Printf("%s %.10s\n", r.Repository, r.Commit)
	fmt.Printf("  files %d · text %.1f MB · chunks %d · symbols %d · references %d · pairs %d · commits %d\n", r.Files, float64(r.TextBytes)/1e6, r.Chunks, r.Symbols, r.References, r.Pairs, r.Commits)
	fmt.Printf("  ingest %.1f s (%.1f s of processor time) · peak %.0f MiB · index %.1f MB, %.2f × text · again %.0f ms · one file %.0f ms\n",
		r.Seconds, r.CPUSeconds, r.PeakMiB, float64(r.IndexBytes)/1e6, r.SizeRatio, r.NoChange*1000, r.Refresh)
	var stages []string
	for name, s := range r.Stages {
		stages = append(stages, fmt.Sprintf("%s %.1f", name, s))
	}
	slices.Sort(stages)
	fmt.Printf("  stages, s: %s\n", strings.Join(stages, " · "))
	var names []string
	for name := range r.Processes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p := r.Processes[name]
		fmt.Printf("  whole process, %-22s p50 %5.1f ms · p95 %5.1f ms · %d of %d answered\n", name+":", p.P50, p.P95, p.Answers, p.Runs)
	}
	fmt.Printf("  search in process: p50 %.1f ms, p95 %.1f ms; with opening the index p50 %.1f ms\n", r.SearchP50, r.SearchP95, r.OpenP50)
}

func milliseconds(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[int(q*float64(len(v)-1)+.5)]
}

func size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	})
	return n, err
}

// machine names the processor and how many of it there are.
func machine() string {
	model := runtime.GOARCH
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores", model, runtime.NumCPU())
}
