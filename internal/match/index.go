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
	mostNear     = 3
	mostCompared = 64
	// mostHidden and mostRuled bound the compared candidates if secrets are hidden, or if matchers
	// decide on a value. A sketch cannot distinguish such candidates.
	mostHidden = 256
	mostRuled  = 1000
	// mostBytes bounds the bytes of params that are read after mostNear candidates were found.
	mostBytes = 256 << 10
	// mostCompiled bounds the cached sets of branches.
	mostCompiled = 1000
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
	options Options
	kept    []Request
	entries []entry
	keys    map[uint64][]int32
	buckets map[[2]string]*bucket

	mu    sync.Mutex
	rules map[[4]string]branches
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
	// hidden is set if one of the requests has a hidden secret.
	hidden bool
}

// NewIndex makes an Index without requests.
func NewIndex(o Options) *Index {
	return &Index{
		options: o,
		keys:    map[uint64][]int32{},
		buckets: map[[2]string]*bucket{},
		rules:   map[[4]string]branches{},
	}
}

// Add adds a request and returns its number. The first request has number 0.
func (x *Index) Add(r Request) int {
	id := x.identify(r)
	n := int32(len(x.entries))
	of := [2]string{r.Method, id.name}
	b := x.buckets[of]
	if b == nil {
		b = &bucket{method: r.Method, name: id.name}
		x.buckets[of] = b
	}
	b.entries = append(b.entries, n)
	b.hidden = b.hidden || id.params != nil && id.params.Hidden
	x.entries = append(x.entries, entry{id.handles, id.plain, b, id.sketch})
	x.keys[id.key] = append(x.keys[id.key], n)
	if x.options.Load == nil {
		x.kept = append(x.kept, r)
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
	s := search{x: x, live: live, id: x.identify(live)}
	if x.options.Level != Loose {
		s.sameKey()
	}
	if len(s.Hits) == 0 {
		s.nearest()
	}
	return s.Found
}

// Compare compares a candidate, as the recorded side, with a live request.
func (x *Index) Compare(live Request, candidate int) Report {
	s := search{x: x, live: live, id: x.identify(live)}
	report, _ := s.compare(int32(candidate))
	return report
}

// compiled returns the branches for params from a cache. Requests with the same method share them,
// unless the rules have a section for the name. It is safe for concurrent use.
func (x *Index) compiled(method, name, was, is string) branches {
	sections := x.options.Rules.about(method, name)
	if len(sections) == 0 || sections[len(sections)-1].Name == "" {
		name = ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	of := [4]string{method, name, was, is}
	on, known := x.rules[of]
	if !known {
		if len(x.rules) >= mostCompiled {
			clear(x.rules)
		}
		on = compile(x.options.Rules, Params, method, name, was, is)
		x.rules[of] = on
	}
	return on
}

// A search is one call of Find.
type search struct {
	Found
	x    *Index
	live Request
	id   identity
}

// compare compares the live request with a candidate, and returns the size of its params in bytes.
func (s *search) compare(candidate int32) (Report, int) {
	s.Compared++
	var was Request
	if s.x.options.Load != nil {
		was = s.x.options.Load(int(candidate))
	} else {
		was = s.x.kept[candidate]
	}
	recorded, err := jsonvalue.Parse(was.Params)
	if err != nil || s.id.params == nil || s.x.options.Level == Exact {
		return Compare(was.Params, s.live.Params, Comparison{Part: Params, Method: was.Method, Bytes: true}), len(was.Params)
	}
	on := s.x.compiled(s.live.Method, s.id.name, was.Revision, s.live.Revision)
	return compareNodes(recorded, s.id.params, on, Comparison{LengthOnly: s.x.options.LengthOnly}.least()), len(was.Params)
}

// sameKey adds the candidates with the same key to Hits. A key is a hash and ignores matchers, so
// the first candidate is compared, or every candidate if there are matchers.
func (s *search) sameKey() {
	candidates := slices.Clone(s.x.keys[s.id.key])
	if s.id.ruled { // candidates that are equal without the rules of a file come first
		sliceutil.Sort(candidates, func(a, b int32) int {
			isPlain := func(candidate int32) int {
				return map[bool]int{true: 0, false: 1}[s.x.entries[candidate].plain == s.id.plain]
			}
			return isPlain(a) - isPlain(b)
		})
	}
	var hits []int32
	for i, candidate := range candidates {
		if len(hits) == 0 || s.id.ruled {
			s.Partial = i >= mostRuled
			if s.Partial {
				break
			}
			if report, _ := s.compare(candidate); !report.Same() {
				continue
			}
		}
		hits = append(hits, candidate)
	}
	slices.Sort(hits)
	s.hit(hits)
}

// hit adds candidates to Hits, the ones with the same handles first.
func (s *search) hit(candidates []int32) {
	for _, same := range []bool{true, false} {
		for _, candidate := range candidates {
			if (s.x.entries[candidate].handles == s.id.handles) == same {
				s.Hits = append(s.Hits, int(candidate))
			}
		}
	}
	if len(s.Hits) > 0 {
		s.Report, _ = s.compare(int32(s.Hits[0]))
	}
}

// nearest compares the candidates with the most similar sketches: first candidates with the same
// method and name, then others if there are fewer than three. Candidates without a difference
// become Hits, all others Near. On the level Loose, the candidates with the same method and name
// are Hits.
func (s *search) nearest() {
	limit := mostCompared
	same := s.x.buckets[[2]string{s.live.Method, s.id.name}]
	if same == nil {
		same = &bucket{}
	} else if same.hidden || s.id.params != nil && s.id.params.Hidden {
		limit = mostHidden
	}
	var all []Near
	bytes := 0
	look := func(candidates []int32, limit int) {
		for _, candidate := range s.rank(candidates, limit) {
			if bytes > mostBytes && len(all) >= mostNear {
				return
			}
			near, size := s.near(candidate)
			all = append(all, near)
			bytes += size
		}
	}
	look(same.entries, limit)
	if s.x.options.Level == Loose && len(all) > 0 {
		s.Hits = sliceutil.Map(byDistance(all), func(near Near) int { return near.Candidate })
		s.Report, _ = s.compare(int32(s.Hits[0]))
		return
	}
	for _, sameMethod := range []bool{true, false} {
		if len(all) >= mostNear {
			break
		}
		var others []int32
		for i, e := range s.x.entries {
			if e.bucket != same && (e.bucket.method == s.live.Method) == sameMethod {
				others = append(others, int32(i))
			}
		}
		look(others, mostCompared/4)
	}
	// On the level Strict, a hidden secret can make the keys of equal requests differ.
	var hits []int32
	for _, near := range byDistance(all) {
		if s.x.options.Level == Strict && near.Differences == 0 {
			hits = append(hits, int32(near.Candidate))
		}
	}
	s.hit(hits)
	if len(s.Hits) == 0 {
		s.Near = all[:min(len(all), mostNear)]
	}
}

// byDistance sorts candidates by distance, and equally distant ones by number.
func byDistance(all []Near) []Near {
	sliceutil.Sort(all, func(a, b Near) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Candidate, b.Candidate))
	})
	return all
}

// rank returns up to limit candidates with the most similar sketches, the most similar first. A
// similar name counts like similar params.
func (s *search) rank(candidates []int32, limit int) []int32 {
	// A key sorts by dissimilarity, then by position.
	keys := make([]int, len(candidates))
	for i, candidate := range candidates {
		s.Scanned++
		e := &s.x.entries[candidate]
		score := s.id.sketch.likeness(e.sketch)
		if e.bucket.name != s.id.name {
			score += int(mostAlike * jsonvalue.Alike(e.bucket.name, s.id.name))
		}
		keys[i] = (2*mostAlike-score)*len(candidates) + i
	}
	slices.Sort(keys)
	return sliceutil.Map(keys[:min(len(keys), limit)], func(key int) int32 { return candidates[key%len(candidates)] })
}

// near compares the live request with one candidate, and returns the size of its params in bytes.
func (s *search) near(candidate int32) (Near, int) {
	of := s.x.entries[candidate].bucket
	report, size := s.compare(candidate)
	near := Near{Candidate: int(candidate), Distance: report.Distance, Differences: len(report.Differences) + report.More}
	if !report.Same() {
		near.First = report.Differences[0]
	}
	if of.method != s.live.Method {
		near.First = Difference{Path: "method", Was: jsonraw.Quote(of.method), Is: jsonraw.Quote(s.live.Method), How: Changed}
		near.Differences++
		near.Distance += 2
	} else if of.name != s.id.name {
		near.Distance++
	}
	return near, size
}
