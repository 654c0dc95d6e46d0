package search

import (
	"math"
	"slices"
	"sort"

	"github.com/chinvex/chinvex/search/index"
)

// The ranking: lexical and semantic legs give candidates, their scores are brought to
// 0…1 by the largest and added (or their ranks are fused), and code-aware terms come on
// top, in multiples of the largest base score. Every constant stands here, each is one
// term's, and `search --explain` prints the terms.
//
// Lexical: BM25F (Robertson and Zaragoza 2009, section 3.6): the counts of a term in the
// fields of a chunk are weighted and normalised, then saturated once.
const (
	bm25K1        = 1.5
	bodyWeight    = 1.0
	bodyB         = 0.75
	commentWeight = 0.5
	commentB      = 0.5
	nameWeight    = 1.0
	stemWeight    = 4.0
	dirWeight     = 1.0

	fileK1 = 2.0
	fileB  = 0.3

	fileShare       = 0.5     // of the file's BM25 beside the chunk's
	semanticShare   = 1.0     // of the cosine part, before semantic_weight
	symbolSemantic  = 0.3     // factor on it when the query is a symbol
	semanticFloor   = 0.2     // quantile of the candidates' cosines that counts as 0
	commonTerm      = 1 << 14 // chunks; a term in more is not looked up where others can be
	candidates      = 800     // chunks that are scored in full
	semanticNearest = 200     // of them at most by cosine alone
	subjectShare    = 0.15    // commits whose subject matches, to the files that they touched

	coherenceBoost  = 0.5
	definesBoost    = 3.0 // the chunk defines the queried symbol
	definesOwnFile  = 2.0 // factor: and the file is named after it
	definesFolded   = 0.3 // factor: the names differ in case
	definesScope    = 1.5 // factor: and the scope that the query names is right
	stemIsSymbol    = 0.5
	sentenceDefines = 0.25
	stemCoverage    = 1.0
	dirCoverage     = 0.5
	queryCoverage   = 0.1

	testFactor      = 0.5
	exampleFactor   = 0.3
	compatFactor    = 0.3
	initFactor      = 0.7
	typesFactor     = 0.7
	internalFactor  = 0.7
	generatedFactor = 0.4
	vendoredFactor  = 0.4
	saturation      = 0.3 // each further chunk of a file

	smallTerms  = 5 // a chunk with fewer terms is a line torn from its place
	smallFactor = 0.8
)

// candidate is a chunk that is scored in full.
type candidate struct {
	chunk   uint32
	row     int // of its file
	lexical float64
	file    float64
	cosine  float64
	terms   []Term
	score   float64
}

func (c *candidate) plus(name string, v float64) {
	if v != 0 {
		c.score += v
		c.terms = append(c.terms, Term{name, v, "+"})
	}
}

func (c *candidate) times(name string, v float64) {
	if v != 1 {
		c.score *= v
		c.terms = append(c.terms, Term{name, v, "×"})
	}
}

// lexicalLeg holds the scores of every chunk and file that shares a term with the query.
type lexicalLeg struct {
	chunk     []float32 // BM25F by chunk id
	chunkMask []uint32  // groups that the chunk holds
	file      []float32 // BM25 by row
	stemMask  []uint32  // groups in the file's stem, by row
	dirMask   []uint32
	found     int // chunks with a score
}

// lexical scores every live, allowed chunk that shares a term with the query.
func (e *Engine) lexical(q *analysis, allowed []bool) (*lexicalLeg, error) {
	r := e.reader
	leg := &lexicalLeg{
		chunk: make([]float32, r.Chunks.Len()), chunkMask: make([]uint32, r.Chunks.Len()),
		file: make([]float32, r.Files.Len()), stemMask: make([]uint32, r.Files.Len()), dirMask: make([]uint32, r.Files.Len()),
	}
	s := r.Manifest.Stats
	if s.LiveChunks == 0 {
		return leg, nil
	}
	n, files := float64(s.LiveChunks), float64(s.LiveFiles)
	bodyMean := max(float64(s.BodyTerms)/n, 1)
	commentMean := max(float64(s.CommentTerms)/n, 1)
	fileMean := max(float64(s.BodyTerms+s.CommentTerms)/files, 1)

	type posting struct {
		chunk uint32
		row   int
		c     index.Counts
	}
	var list []posting
	done := map[string]bool{}
	skip, err := e.tooCommon(q)
	if err != nil {
		return nil, err
	}
	for g := range q.groups {
		group := &q.groups[g]
		bit := uint32(1) << g
		for _, term := range group.terms {
			if skip[term] {
				continue
			}
			list = list[:0]
			lastRow, inFiles := -1, 0
			err := r.Postings(term, func(chunk uint32, packed uint64) {
				row, live := r.Files.Row(r.Chunks.File(chunk))
				if !live || allowed != nil && !allowed[row] {
					return
				}
				if row != lastRow {
					lastRow = row
					inFiles++
				}
				list = append(list, posting{chunk, row, index.Unpack(packed)})
			})
			if err != nil {
				return nil, err
			}
			termIDF := idf(n, float64(len(list)))
			group.idf = max(group.idf, termIDF)
			fileIDF := idf(files, float64(inFiles))
			again := done[term] // a stem shared by two words counts once, but covers both
			done[term] = true
			flush := func(row int, tf float64) {
				if again || tf == 0 {
					return
				}
				length := 1 - fileB + fileB*float64(r.Files.Terms(row))/fileMean
				leg.file[row] += float32(fileIDF * tf * (fileK1 + 1) / (tf + fileK1*length))
			}
			row, tf := -1, 0.0
			for _, p := range list {
				if p.row != row {
					flush(row, tf)
					row, tf = p.row, 0
				}
				tf += float64(p.c.Body + p.c.Comment + p.c.Name)
				if leg.chunkMask[p.chunk] == 0 {
					leg.found++
				}
				leg.chunkMask[p.chunk] |= bit
				if p.c.Stem > 0 {
					leg.stemMask[p.row] |= bit
				}
				if p.c.Dir > 0 {
					leg.dirMask[p.row] |= bit
				}
				if again {
					continue
				}
				c := r.Chunks.At(p.chunk)
				x := bodyWeight*float64(p.c.Body)/(1-bodyB+bodyB*float64(c.Body)/bodyMean) +
					commentWeight*float64(p.c.Comment)/(1-commentB+commentB*float64(c.Comment)/commentMean) +
					nameWeight*float64(p.c.Name) + stemWeight*float64(p.c.Stem) + dirWeight*float64(p.c.Dir)
				leg.chunk[p.chunk] += float32(termIDF * x * (bm25K1 + 1) / (x + bm25K1))
			}
			flush(row, tf)
		}
	}
	return leg, nil
}

// tooCommon returns the terms that so many chunks hold that they cost more than they
// tell; none where every term is like that. Small repositories have none.
func (e *Engine) tooCommon(q *analysis) (map[string]bool, error) {
	skip, rare := map[string]bool{}, false
	for _, g := range q.groups {
		for _, term := range g.terms {
			n, err := e.reader.DocumentFrequency(term)
			if err != nil {
				return nil, err
			}
			if n > commonTerm {
				skip[term] = true
			} else if n > 0 {
				rare = true
			}
		}
	}
	if !rare {
		return nil, nil
	}
	return skip, nil
}

// best returns the k chunks with the largest scores, chunk and file together, ties to
// the lower id, in order of id.
func (e *Engine) best(leg *lexicalLeg, k int) []uint32 {
	ids := make([]uint32, 0, leg.found)
	scores := make([]float32, 0, leg.found)
	for id, mask := range leg.chunkMask {
		if mask != 0 {
			row, _ := e.reader.Files.Row(e.reader.Chunks.File(uint32(id)))
			ids = append(ids, uint32(id))
			scores = append(scores, leg.chunk[id]+fileShare*leg.file[row])
		}
	}
	if len(ids) <= k {
		return ids
	}
	limit := largest(slices.Clone(scores), k)
	ties := k
	for _, s := range scores {
		if s > limit {
			ties--
		}
	}
	out := make([]uint32, 0, k)
	for i, s := range scores {
		if s < limit || s == limit && ties == 0 {
			continue
		}
		if s == limit {
			ties--
		}
		out = append(out, ids[i])
	}
	return out
}

// largest returns the k-th largest of v by Hoare's selection; it reorders v.
func largest(v []float32, k int) float32 {
	lo, hi := 0, len(v)-1
	for lo < hi {
		pivot := v[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for v[i] > pivot {
				i++
			}
			for v[j] < pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k-1 <= j:
			hi = j
		case k-1 >= i:
			lo = i
		default:
			return v[k-1]
		}
	}
	return v[k-1]
}

// fuse gives every candidate its base score: the legs brought to one scale.
func (e *Engine) fuse(cs []candidate, q *analysis, mode Mode) {
	s := e.settings.Search
	weight := s.SemanticWeight
	switch mode {
	case Lexical:
		weight = 0
	case Semantic:
		weight = 1
	}
	if q.symbol != "" && mode == Hybrid {
		weight *= symbolSemantic
	}
	if s.Fusion == "rrf" {
		fuseRanks(cs, weight, float64(s.RRFK))
		return
	}
	var maxChunk, maxFile, maxCosine float64
	var cosines []float64
	for _, c := range cs {
		maxChunk, maxFile, maxCosine = max(maxChunk, c.lexical), max(maxFile, c.file), max(maxCosine, c.cosine)
		cosines = append(cosines, c.cosine)
	}
	sort.Float64s(cosines)
	floor := 0.0
	if len(cosines) > 0 && mode == Hybrid {
		floor = max(0, cosines[int(semanticFloor*float64(len(cosines)-1))])
	}
	// At a weight of one half both factors are 1.
	for i := range cs {
		c := &cs[i]
		if maxChunk > 0 {
			c.plus("lexical", 2*(1-weight)*c.lexical/maxChunk)
		}
		if maxFile > 0 {
			c.plus("file", 2*(1-weight)*fileShare*c.file/maxFile)
		}
		if maxCosine > floor {
			c.plus("semantic", 2*weight*semanticShare*max(0, c.cosine-floor)/(maxCosine-floor))
		}
	}
}

// fuseRanks is reciprocal rank fusion (Cormack, Clarke and Büttcher 2009), scaled so
// that the first of both legs has 1.
func fuseRanks(cs []candidate, weight, k float64) {
	order := make([]int, len(cs))
	rank := func(name string, weight float64, score func(c *candidate) float64) {
		for i := range order {
			order[i] = i
		}
		sort.SliceStable(order, func(i, j int) bool { return score(&cs[order[i]]) > score(&cs[order[j]]) })
		for r, i := range order {
			if score(&cs[i]) > 0 {
				cs[i].plus(name, (k+1)*weight/(k+float64(r+1)))
			}
		}
	}
	rank("lexical", 1-weight, func(c *candidate) float64 { return c.lexical + fileShare*c.file })
	rank("semantic", weight, func(c *candidate) float64 { return c.cosine })
}

// boost adds the code-aware terms to fused candidates.
func (e *Engine) boost(cs []candidate, q *analysis, leg *lexicalLeg, names *queriedNames, subjects map[int]float64) {
	unit := 0.0
	for _, c := range cs {
		unit = max(unit, c.score)
	}
	if unit == 0 {
		unit = 1
	}
	idfSum := 0.0
	for _, g := range q.groups {
		idfSum += g.idf
	}
	share := func(mask uint32) float64 {
		if idfSum == 0 {
			return 0
		}
		sum := 0.0
		for g := range q.groups {
			if mask&(1<<g) != 0 {
				sum += q.groups[g].idf
			}
		}
		return sum / idfSum
	}

	// Coherence: the best chunk of a file with several good ones.
	sum, top := map[int]float64{}, map[int]int{}
	for i, c := range cs {
		sum[c.row] += c.score
		if t, ok := top[c.row]; !ok || c.score > cs[t].score {
			top[c.row] = i
		}
	}
	largest := 0.0
	for _, v := range sum {
		largest = max(largest, v)
	}
	for i := range cs {
		c := &cs[i]
		if top[c.row] == i && largest > 0 {
			c.plus("coherence", unit*coherenceBoost*sum[c.row]/largest)
		}
		c.plus("file stem", unit*stemCoverage*share(leg.stemMask[c.row]))
		c.plus("directories", unit*dirCoverage*share(leg.dirMask[c.row]&^leg.stemMask[c.row]))
		c.plus("coverage", unit*queryCoverage*share(leg.chunkMask[c.chunk]))
		if d, ok := names.chunks[c.chunk]; ok {
			c.plus(d.name, unit*d.value)
		}
		if v, ok := names.stems[c.row]; ok {
			c.plus("file named so", unit*v)
		}
		c.plus("commit subjects", unit*subjectShare*subjects[c.row])
	}
	for i := range cs {
		c := &cs[i]
		f := e.file(c.row)
		for _, p := range penalties(f.Class, q, e.settings.Search.DocDemotion) {
			c.times(p.Name, p.Value)
		}
		if chunk := e.reader.Chunks.At(c.chunk); int(chunk.Body)+int(chunk.Comment) < smallTerms {
			c.times("small chunk", smallFactor)
		}
		c.times("recency", e.recency(f.LastCommit))
	}
}

// penalties returns the factors of a file's class, unless the query asks for it.
func penalties(class index.Class, q *analysis, docDemotion float64) []Term {
	var out []Term
	add := func(c index.Class, name string, factor float64, asked bool) {
		if class&c != 0 && !asked {
			out = append(out, Term{name, factor, "×"})
		}
	}
	add(index.Test, "test", testFactor, q.asksTests)
	add(index.Example, "example", exampleFactor, q.asksExamples)
	if class&index.Test == 0 {
		add(index.Documentation, "documentation", docDemotion, q.asksDocs)
		if class&index.Documentation == 0 {
			add(index.Configuration, "configuration", docDemotion, q.asksConfig)
		}
	}
	add(index.Generated, "generated", generatedFactor, false)
	add(index.Vendored, "vendored", vendoredFactor, false)
	add(index.Compat, "compatibility", compatFactor, false)
	add(index.Init, "package init", initFactor, false)
	add(index.Types, "type declarations", typesFactor, false)
	add(index.Internal, "internal", internalFactor, false)
	return out
}

// recency is 1 − w + w·0.5^(age/half-life); the age is counted from the newest commit
// in the index, so that an answer does not depend on the day it is asked for.
func (e *Engine) recency(last int64) float64 {
	w, half := e.settings.Search.RecencyWeight, e.settings.Search.RecencyHalfLifeDays
	if last == 0 || w == 0 || half <= 0 {
		return 1
	}
	days := float64(e.reader.Files.Newest()-last) / 86400
	return 1 - w + w*math.Pow(0.5, max(0, days)/half)
}

// saturate orders candidates and lowers each further chunk of a file.
func saturate(cs []candidate, less func(a, b *candidate) bool) {
	sort.Slice(cs, func(i, j int) bool { return less(&cs[i], &cs[j]) })
	seen := map[int]int{}
	for i := range cs {
		n := seen[cs[i].row]
		seen[cs[i].row] = n + 1
		if n > 0 {
			cs[i].times("further chunk", math.Pow(saturation, float64(n)))
		}
	}
	sort.Slice(cs, func(i, j int) bool { return less(&cs[i], &cs[j]) })
}
