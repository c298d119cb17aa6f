package match

import (
	"cmp"
	"slices"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/sliceutil"
)

// The limits of one search. A search checks the sketch of every candidate, and compares the most
// similar candidates value by value.
const (
	maxNear     = 3
	maxCompared = 64
	// maxComparedHidden and maxComparedRuled bound the compared candidates if secrets are hidden,
	// or if matchers decide on a value. A sketch cannot distinguish such candidates.
	maxComparedHidden = 256
	maxComparedRuled  = 1000
	// maxComparedBytes bounds the bytes of params that are read after maxNear candidates were found.
	maxComparedBytes = 256 << 10
	// maxCompiled bounds the cached sets of branches.
	maxCompiled = 1000
)

// Options configure an Index.
type Options struct {
	Level      Level
	Rules      *Rules
	LengthOnly bool // as in Comparison
	// Load returns an added request again, so that the Index keeps only about 200 bytes of each.
	// If Load is nil, the Index keeps every request.
	Load func(candidate int) Request
}

// An Index finds recorded requests. Find is safe for concurrent use; Add must not run at the same
// time as another call.
type Index struct {
	options  Options
	requests []Request
	entries  []entry
	keys     map[uint64][]int32
	buckets  map[[2]string]*bucket

	mu       sync.Mutex
	compiled map[[4]string]branches
}

// An entry is the stored part of a request.
type entry struct {
	handles, plain uint64
	bucket         *bucket
	sketch         sketch
}

// A bucket has the requests of one method and name.
type bucket struct {
	method, name string
	entries      []int32
	// hidden is set if a request has a hidden secret.
	hidden bool
}

// NewIndex makes an Index without requests.
func NewIndex(o Options) *Index {
	return &Index{
		options:  o,
		keys:     map[uint64][]int32{},
		buckets:  map[[2]string]*bucket{},
		compiled: map[[4]string]branches{},
	}
}

// Add adds a request and returns its number. The first request has number 0.
func (x *Index) Add(r Request) int {
	id := x.identify(r)
	n := int32(len(x.entries))
	key := [2]string{r.Method, id.name}
	group := x.buckets[key]
	if group == nil {
		group = &bucket{method: r.Method, name: id.name}
		x.buckets[key] = group
	}
	group.entries = append(group.entries, n)
	group.hidden = group.hidden || id.params != nil && id.params.Hidden
	x.entries = append(x.entries, entry{id.handles, id.plain, group, id.sketch})
	x.keys[id.key] = append(x.keys[id.key], n)
	if x.options.Load == nil {
		x.requests = append(x.requests, r)
	}
	return int(n)
}

// Found is the result of a search.
type Found struct {
	// Hits are the candidates that match the request: first the ones with the same handles, then
	// in the order of Add. On the level Loose, the most similar candidate is first.
	Hits []int
	// Report is the comparison with the first of Hits.
	Report Report
	// Near are up to three of the most similar candidates, if there are no Hits.
	Near []Near
	// Partial is set if Hits may be incomplete, because matchers had to decide on too many
	// candidates.
	Partial bool
	// Scanned is the number of checked sketches, and Compared the number of candidates that were
	// compared value by value.
	Scanned, Compared int
}

// A Near is a similar candidate that does not match.
type Near struct {
	Candidate int
	// Distance is the distance of the params, from 0 to 1. A different name adds 1, a different
	// method adds 2.
	Distance float64
	// First is the first difference, and Differences is their number.
	First       Difference
	Differences int
}

// Find returns the candidates that match a live request, or else the most similar ones.
func (x *Index) Find(live Request) Found {
	s := search{index: x, live: live, id: x.identify(live)}
	if x.options.Level != Loose {
		s.findSameKey()
	}
	if len(s.Hits) == 0 {
		s.findNearest()
	}
	return s.Found
}

// Compare compares a candidate, as the recorded side, with a live request.
func (x *Index) Compare(live Request, candidate int) Report {
	s := search{index: x, live: live, id: x.identify(live)}
	report, _ := s.compare(int32(candidate))
	return report
}

// compiledRules returns the branches for params from a cache. Requests with the same method share
// them, unless the rules have a section for the name. It is safe for concurrent use.
func (x *Index) compiledRules(method, name, recordedRevision, currentRevision string) branches {
	sections := x.options.Rules.sectionsFor(method, name)
	hasOwnSection := len(sections) > 0 && sections[len(sections)-1].Name != "" // the most specific is last
	if !hasOwnSection {
		name = ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	key := [4]string{method, name, recordedRevision, currentRevision}
	scope, known := x.compiled[key]
	if !known {
		if len(x.compiled) >= maxCompiled {
			clear(x.compiled)
		}
		scope = compile(x.options.Rules, Params, method, name, recordedRevision, currentRevision)
		x.compiled[key] = scope
	}
	return scope
}

// A search is one call of Find.
type search struct {
	Found
	index *Index
	live  Request
	id    identity
}

// compare compares the live request with a candidate, and returns the size of its params in bytes.
func (s *search) compare(candidate int32) (report Report, size int) {
	s.Compared++
	var request Request
	if s.index.options.Load != nil {
		request = s.index.options.Load(int(candidate))
	} else {
		request = s.index.requests[candidate]
	}
	size = len(request.Params)
	recorded, err := jsonvalue.Parse(request.Params)
	if err != nil || s.id.params == nil || s.index.options.Level == Exact {
		byBytes := Comparison{Part: Params, Method: request.Method, Bytes: true}
		return Compare(request.Params, s.live.Params, byBytes), size
	}
	scope := s.index.compiledRules(s.live.Method, s.id.name, request.Revision, s.live.Revision)
	weakestFit := Comparison{LengthOnly: s.index.options.LengthOnly}.weakestFit()
	return compareNodes(recorded, s.id.params, scope, weakestFit), size
}

// findSameKey adds the candidates with the same key to Hits. A key is a hash and ignores matchers,
// so the first candidate is compared, or every candidate if there are matchers.
func (s *search) findSameKey() {
	candidates := slices.Clone(s.index.keys[s.id.key])
	if s.id.hasMatcher { // candidates that are equal without the rules of a file come first
		rank := func(candidate int32) int {
			if s.index.entries[candidate].plain == s.id.plain {
				return 0
			}
			return 1
		}
		sliceutil.Sort(candidates, func(a, b int32) int { return rank(a) - rank(b) })
	}
	var hits []int32
	for i, candidate := range candidates {
		mustCompare := len(hits) == 0 || s.id.hasMatcher
		if mustCompare {
			if i >= maxComparedRuled {
				s.Partial = true
				break
			}
			if report, _ := s.compare(candidate); !report.Same() {
				continue // the hashes are equal by chance, or a matcher rejects the values
			}
		}
		hits = append(hits, candidate)
	}
	slices.Sort(hits)
	s.addHits(hits)
}

// addHits adds candidates to Hits, the ones with the same handles first.
func (s *search) addHits(candidates []int32) {
	for _, withSameHandles := range []bool{true, false} {
		for _, candidate := range candidates {
			if (s.index.entries[candidate].handles == s.id.handles) == withSameHandles {
				s.Hits = append(s.Hits, int(candidate))
			}
		}
	}
	if len(s.Hits) > 0 { // not every candidate was compared, and only the first has a report
		s.Report, _ = s.compare(int32(s.Hits[0]))
	}
}

// findNearest compares the candidates with the most similar sketches: first candidates with the same
// method and name, then others if there are fewer than three. Candidates without a difference
// become Hits, all others Near. On the level Loose, the candidates with the same method and name
// are Hits.
func (s *search) findNearest() {
	limit := maxCompared
	ownBucket := s.index.buckets[[2]string{s.live.Method, s.id.name}]
	if ownBucket == nil {
		ownBucket = &bucket{}
	} else if ownBucket.hidden || s.id.params != nil && s.id.params.Hidden {
		limit = maxComparedHidden
	}
	var all []Near
	comparedBytes := 0
	// compareRanked adds the most similar of some candidates to all.
	compareRanked := func(candidates []int32, limit int) {
		for _, candidate := range s.mostSimilar(candidates, limit) {
			if comparedBytes > maxComparedBytes && len(all) >= maxNear {
				return
			}
			near, size := s.compareNear(candidate)
			all = append(all, near)
			comparedBytes += size
		}
	}
	compareRanked(ownBucket.entries, limit)
	if s.index.options.Level == Loose && len(all) > 0 {
		s.Hits = sliceutil.Map(byDistance(all), func(near Near) int { return near.Candidate })
		s.Report, _ = s.compare(int32(s.Hits[0]))
		return
	}
	for _, sameMethod := range []bool{true, false} {
		if len(all) >= maxNear {
			break
		}
		var others []int32
		for i, e := range s.index.entries {
			if e.bucket != ownBucket && (e.bucket.method == s.live.Method) == sameMethod {
				others = append(others, int32(i))
			}
		}
		compareRanked(others, maxCompared/4) // rarely Hits: a few suffice for Near
	}
	// On the level Strict, a hidden secret can make the keys of equal requests differ.
	var hits []int32
	for _, near := range byDistance(all) {
		if s.index.options.Level == Strict && near.Differences == 0 {
			hits = append(hits, int32(near.Candidate))
		}
	}
	s.addHits(hits)
	if len(s.Hits) == 0 {
		s.Near = all[:min(len(all), maxNear)]
	}
}

// byDistance sorts candidates by distance, and equally distant ones by number.
func byDistance(all []Near) []Near {
	sliceutil.Sort(all, func(a, b Near) int {
		if a.Distance != b.Distance {
			return cmp.Compare(a.Distance, b.Distance)
		}
		return a.Candidate - b.Candidate
	})
	return all
}

// mostSimilar returns up to limit candidates with the most similar sketches, the most similar first. A
// similar name counts like similar params.
func (s *search) mostSimilar(candidates []int32, limit int) []int32 {
	// Each key holds the dissimilarity and the position of a candidate, so that sorting the keys sorts
	// by both.
	keys := make([]int, len(candidates))
	for i, candidate := range candidates {
		s.Scanned++
		e := &s.index.entries[candidate]
		score := s.id.sketch.likeness(e.sketch)
		if e.bucket.name != s.id.name {
			score += int(maxLikeness * jsonvalue.Alike(e.bucket.name, s.id.name))
		}
		keys[i] = (2*maxLikeness-score)*len(candidates) + i
	}
	slices.Sort(keys)
	return sliceutil.Map(keys[:min(len(keys), limit)], func(key int) int32 { return candidates[key%len(candidates)] })
}

// compareNear compares the live request with one candidate, and returns the size of its params in
// bytes.
func (s *search) compareNear(candidate int32) (Near, int) {
	group := s.index.entries[candidate].bucket
	report, size := s.compare(candidate)
	near := Near{Candidate: int(candidate), Distance: report.Distance, Differences: len(report.Differences) + report.More}
	if !report.Same() {
		near.First = report.Differences[0]
	}
	if group.method != s.live.Method {
		recorded := jsonraw.Quote(group.method)
		near.First = Difference{Path: "method", Was: recorded, Is: jsonraw.Quote(s.live.Method), How: Changed}
		near.Differences++
		near.Distance += 2
	} else if group.name != s.id.name {
		near.Distance++
	}
	return near, size
}
