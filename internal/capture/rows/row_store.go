package rows

import (
	"iter"
	"os"
	"slices"
	"sync"
	"time"
)

// A rowStore has the rows of a capture in pages. Pages that are not in use are packed, as an
// index has them: a capture may have millions of rows, which have about 1 KiB each, and packed
// some 30 bytes.
type rowStore struct {
	owner *Capture
	pages []*page
	count int
	// all are the rows once Rows was called: from then on no page is packed.
	all []*Row
	// unpacked are the pages with rows, in the order in which they were unpacked.
	unpacked []*page
	// blocks are the memory of pages that are packed now, to be used again.
	blocks [][]Row
	// conns are the conversations, by their number less 1.
	conns   []*conn
	packing packing
	pageFile
}

// A pageFile is the file of an index, or one that becomes an index, with packed pages.
type pageFile struct {
	mu sync.Mutex
	// path is that of the index, file the open one, or nil; end is where the next page is
	// written, 0 where none is.
	path string
	file *os.File
	end  int64
	// mended is set once all was read again because a page was not as it was written.
	mended bool
}

// A page has pageRows rows, the last one perhaps less.
type page struct {
	// rows is nil where they are packed; block is where they are, which is kept if rows of other
	// pages name some of them. Packed they are in memory, or else in the file: at, length and sum
	// are their place and checksum there.
	rows   []*Row
	block  []Row
	kept   bool
	packed []byte
	at     int64
	length int
	sum    uint32
	// first is the number of the first row, from 0.
	first int
	// from and to are the first and the last byte in the file of the lines of its rows, used is
	// set where they were looked at since used was cleared.
	from, to int64
	used     bool
	// least and most are what its rows measure at least and at most.
	least, most measures
}

// measures are what filters compare of a row: Time in nanoseconds since 1970, Duration, First and
// Size. Those that no row of a page has are at most less than at least.
type measures struct{ time, duration, first, size int64 }

// measure notes what a row measures.
func (p *page) measure(r *Row) {
	note := func(least, most *int64, n int64) { *least, *most = min(*least, n), max(*most, n) }
	if !r.Time.IsZero() {
		note(&p.least.time, &p.most.time, r.Time.UnixNano())
	}
	if r.First > 0 {
		note(&p.least.first, &p.most.first, int64(r.First))
	}
	note(&p.least.duration, &p.most.duration, int64(r.Duration))
	note(&p.least.size, &p.most.size, r.Size())
}

// Tests have smaller pages.
var (
	pageRows = 256
	// mostUnpacked is how many pages stay unpacked while a file is read.
	mostUnpacked = 24
)

// add appends a row, and returns where it is from then on.
func (s *rowStore) add(r Row) *Row {
	r.nth = s.count
	defer func() { s.count++ }() // a page with fewer rows may be unpacked first
	if s.all != nil {
		own := r
		s.all = append(s.all, &own)
		return &own
	}
	if r.nth%pageRows == 0 {
		p := &page{rows: make([]*Row, 0, pageRows), block: s.room(), first: r.nth}
		s.pages, s.unpacked = append(s.pages, p), append(s.unpacked, p)
	}
	p := s.pages[r.nth/pageRows]
	s.unpack(p)
	own := &p.block[r.nth%pageRows]
	*own = r
	p.rows = append(p.rows, own)
	return own
}

// keep keeps the memory of a row that another one names.
func (s *rowStore) keep(r *Row) {
	if s.all == nil {
		s.pages[r.nth/pageRows].kept = true
	}
}

// room is memory for the rows of a page.
func (s *rowStore) room() []Row {
	if n := len(s.blocks); n > 0 {
		block := s.blocks[n-1]
		s.blocks = s.blocks[:n-1]
		return block
	}
	return make([]Row, pageRows)
}

// at returns the row with a number from 0. It may be another one than before, unless all are
// unpacked.
func (s *rowStore) at(nth int) *Row {
	if s.all != nil {
		return s.all[nth]
	}
	p := s.pages[nth/pageRows]
	s.unpack(p)
	return p.rows[nth%pageRows]
}

func (s *rowStore) unpack(p *page) {
	if p.used = true; p.rows == nil {
		block := s.room()
		n := s.decode(p, block)
		p.block, p.rows = block, make([]*Row, 0, pageRows)
		for i := range block[:n] {
			p.rows = append(p.rows, &block[i])
		}
		p.packed, s.unpacked = nil, append(s.unpacked, p)
	}
}

// packOld packs pages that were not used for long. Pointers to their rows are of no use then.
func (s *rowStore) packOld() {
	for len(s.unpacked) > mostUnpacked {
		p := s.unpacked[0]
		if s.unpacked = s.unpacked[1:]; p.used {
			p.used = false
			s.unpacked = append(s.unpacked, p)
			continue
		}
		s.pack(p)
		if !p.kept {
			clear(p.block)
			s.blocks = append(s.blocks, p.block)
		}
		p.block, p.kept = nil, false
	}
}

// packAll gives all pages packed.
func (s *rowStore) packAll() []*page {
	for _, p := range s.unpacked {
		s.pack(p)
	}
	s.unpacked = nil
	if s.all == nil {
		return s.pages
	}
	var pages []*page
	for part := range slices.Chunk(s.all, pageRows) {
		p := &page{rows: part}
		s.pack(p)
		pages = append(pages, p)
	}
	return pages
}

// Rows are the exchanges in the order of their requests. They are the Capture's own and change
// with Refresh. Of a large capture they take much memory: see Pages.
func (s *rowStore) Rows() []*Row {
	if s.all == nil {
		all := make([]*Row, 0, s.count)
		for _, p := range s.pages {
			s.unpack(p)
			all = append(all, p.rows...)
		}
		for _, r := range all {
			if r.Within != nil {
				r.Within = all[r.Within.nth]
			}
			for i, other := range r.Guesses {
				r.Guesses[i] = all[other.nth]
			}
		}
		s.all, s.pages, s.unpacked = all, nil, nil
	}
	if len(s.all) == 0 {
		return nil
	}
	return s.all
}

// Count is how many rows there are.
func (s *rowStore) Count() int { return s.count }

// Row is the exchange with this number in the file, from 1; nil where there is none.
func (s *rowStore) Row(n int) *Row {
	if n < 1 || n > s.count || s.all != nil && n > len(s.all) {
		return nil
	}
	return s.at(n - 1)
}

// A Page is some rows of a capture that follow each other.
type Page struct {
	store *rowStore
	page  *page
	// rows are those of a page that is not packed.
	rows []*Row
}

// Pages are all rows in their order. Several goroutines may look at pages, as long as none
// calls another method of the Capture that gives rows.
func (s *rowStore) Pages() (pages []Page) {
	for part := range slices.Chunk(s.all, pageRows) {
		pages = append(pages, Page{rows: part})
	}
	for _, p := range s.pages {
		pages = append(pages, Page{s, p, p.rows})
	}
	return pages
}

var rowBlocks = sync.Pool{New: func() any { return new([]Row) }}

// Select returns the rows that fit, in their order. A row is fits's during the call only.
func (p Page) Select(fits func(*Row) bool) (some []*Row) {
	if p.rows != nil {
		for _, r := range p.rows {
			if fits(r) {
				some = append(some, r)
			}
		}
		return some
	}
	pooled := rowBlocks.Get().(*[]Row)
	defer rowBlocks.Put(pooled)
	*pooled = slices.Grow((*pooled)[:0], pageRows)
	block := (*pooled)[:pageRows]
	for i := range block[:p.store.decode(p.page, block)] {
		if fits(&block[i]) {
			own := block[i]
			some = append(some, &own)
		}
	}
	clear(block)
	return some
}

// Samples are rows with all that the rows of the page have, but their own Time, ID, Duration,
// First, Sent, Received, Guesses, Within and SameAs; more than one where rows differ in the rest. They
// are nil where that is not known without looking at the rows.
func (p Page) Samples() []Row {
	if p.rows != nil {
		return nil
	}
	return unpack(p.store.load(p.page)).samples(p.store)
}

// Bounds are rows with the least and the greatest Time, Duration, First and Size of the rows of a page
// that has Samples. Where no row has a Time or a First, they have none.
func (p Page) Bounds() (least, most Row) {
	of := p.page
	if of.least.time <= of.most.time {
		least.Time, most.Time = time.Unix(0, of.least.time), time.Unix(0, of.most.time)
	}
	if of.least.first <= of.most.first {
		least.First, most.First = time.Duration(of.least.first), time.Duration(of.most.first)
	}
	least.Duration, most.Duration = time.Duration(of.least.duration), time.Duration(of.most.duration)
	least.Received, most.Received = of.least.size, of.most.size
	return least, most
}

func (s *rowStore) newConn() *conn {
	c := &conn{number: len(s.conns) + 1}
	s.conns = append(s.conns, c)
	return c
}

// numbers are those of the rows of the run.
func (x *index) numbers() []int32 {
	if x.finished && x.rows == nil {
		for _, p := range x.capture.Pages() {
			p.Select(func(r *Row) bool {
				if r.head == x.at {
					x.rows = append(x.rows, int32(r.nth))
				}
				return false
			})
		}
	}
	return x.rows
}

// each are the rows of the run.
func (x *index) each() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for _, nth := range x.numbers() {
			if !yield(x.capture.at(int(nth))) {
				return
			}
		}
	}
}
