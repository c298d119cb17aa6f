package match

import (
	"cmp"
	"slices"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/sliceutil"
)

// The limits of one search. Each candidate is looked at, by a sketch of a few bytes; those
// that look nearest are compared value by value.
const (
	mostNear     = 3
	mostCompared = 64
	// mostHidden is how many are compared where secrets are hidden, and mostRuled where
	// matchers decide on a value: a sketch does not tell these apart.
	mostHidden = 256
	mostRuled  = 1000
	// mostBytes is how many bytes of params are read before the search ends, once there are
	// mostNear.
	mostBytes = 256 << 10
	// mostCompiled is how many sets of branches are kept.
	mostCompiled = 1000
)

// Options say how an Index compares.
type Options struct {
	Level      Level
	Rules      *Rules
	LengthOnly bool // as in Comparison
	// Load gives an added request again, so that the Index need not keep it: what it keeps
	// is about 200 bytes. Where it is nil the Index keeps each request.
	Load func(candidate int) Request
}

// An Index finds recorded requests. Find may be called from several goroutines, Add not
// while another call is made.
type Index struct {
	options Options
	kept    []Request
	entries []entry
	keys    map[uint64][]int32
	buckets map[[2]string]*bucket

	mu    sync.Mutex
	rules map[[4]string]branches
}

// An entry is what is kept of a request.
type entry struct {
	handles, plain uint64
	bucket         *bucket
	sketch         sketch
}

// A bucket has the requests of one method and name.
type bucket struct {
	method, name string
	entries      []int32
	// hidden is set where one of them has a hidden secret.
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

// Add adds a request, and gives its number: 0 for the first.
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

// Found is what an Index has for a request.
type Found struct {
	// Hits are the candidates that are the same request: first those with the same handles,
	// then those that were added first. On the level Loose the nearest is first.
	Hits []int
	// Report is the comparison with the first of Hits: what was let pass, and on the level
	// Loose how it differs.
	Report Report
	// Near are the nearest candidates, at most three, where there are no Hits.
	Near []Near
	// Partial is set where matchers of a file had to decide on more candidates than are
	// compared, so that Hits may lack some.
	Partial bool
	// Scanned is how many sketches were looked at, and Compared how many candidates were
	// compared value by value.
	Scanned, Compared int
}

// A Near is a candidate that is not the same request.
type Near struct {
	Candidate int
	// Distance is that of the params, from 0 to 1; one more with another name, two more
	// with another method.
	Distance float64
	// First is the first difference, and Differences how many there are.
	First       Difference
	Differences int
}

// Find gives the candidates that are the same request as a live one, or the nearest ones.
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

// Compare compares a live request with a candidate, which is the recorded side.
func (x *Index) Compare(live Request, candidate int) Report {
	s := search{x: x, live: live, id: x.identify(live)}
	report, _ := s.compare(int32(candidate))
	return report
}

// compiled is compile for params, which is the same for all requests of a method, and of a
// name where the rules have a section for it.
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

// compare compares with a candidate, whose params are so many bytes.
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

// sameKey takes the candidates with the same key. A key is a hash, and says nothing of what
// matchers decide: so the first is compared, and each where there are matchers.
func (s *search) sameKey() {
	candidates := slices.Clone(s.x.keys[s.id.key])
	if s.id.ruled { // those that are the same request without the rules of a file first
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

// hit takes candidates as hits, those with the same handles first.
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

// nearest compares those candidates that look nearest: first those of the same method and
// name, and others where these are fewer than three.
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
	// On the level Strict one may be the same whose key differs, for a secret that is hidden.
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

// byDistance sorts, the nearest first, and of those as near the first ones.
func byDistance(all []Near) []Near {
	sliceutil.Sort(all, func(a, b Near) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Candidate, b.Candidate))
	})
	return all
}

// rank returns the candidates that look nearest, the nearest first, and of those that look the same the first ones.
func (s *search) rank(candidates []int32, limit int) []int32 {
	// A key is how little a candidate is alike, and then its place.
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

// near compares with one candidate.
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
