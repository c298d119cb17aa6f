package rows

import (
	"hash/crc32"
	"os"
	"slices"
	"sync"
	"time"

	"mcpc/internal/capture"
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
	conns    []*conn
	packing  packing
	pageFile pageFile
	// mended is set once all rows were read again because the index file did not have a page as it was written.
	reread bool
}

// A pageFile is an index file, or a file that becomes one, with packed pages.
type pageFile struct {
	// mu guards the fields below while a page is read.
	mu   sync.Mutex
	path string
	// file is open while it is written, or since a page was read; else nil.
	file *os.File
	// end is where the next page is written; 0 while none is written.
	end int64
}

// begin has pages written to a file from an offset on.
func (f *pageFile) begin(file *os.File, offset int64) {
	f.file = file
	f.end = offset
}

// write writes the packed rows of a page, and reports whether the file has them now.
func (f *pageFile) write(p *page, packed []byte) bool {
	if f.end == 0 {
		return false
	}
	p.at = f.end
	p.length = len(packed)
	p.sum = crc32.Checksum(packed, castagnoli())
	if _, err := f.file.WriteAt(packed, p.at); err != nil {
		return false
	}
	f.end += int64(p.length)
	return true
}

// read reads the packed rows of a page; nil if the file does not have them as they were written.
func (f *pageFile) read(p *page) []byte {
	if f.file == nil {
		f.file, _ = capture.OpenPlain(f.path, os.O_RDONLY)
	}
	if f.file == nil {
		return nil
	}
	packed := make([]byte, p.length)
	if _, err := f.file.ReadAt(packed, p.at); err != nil || crc32.Checksum(packed, castagnoli()) != p.sum {
		return nil
	}
	return packed
}

// close closes the file, unless it is being written.
func (f *pageFile) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end == 0 && f.file != nil {
		f.file.Close()
		f.file = nil
	}
}

// store keeps a page that was packed, in the index file if one is written.
func (s *rowStore) storePacked(p *page, packed []byte) {
	p.packed = packed
	if s.pageFile.write(p, packed) {
		p.packed = nil
	}
}

// load returns the packed rows of a page. If the file does not have them as they were written, all rows are read again.
func (s *rowStore) loadPacked(p *page) []byte {
	s.pageFile.mu.Lock()
	defer s.pageFile.mu.Unlock()
	if p.packed != nil {
		return p.packed
	}
	if packed := s.pageFile.read(p); packed != nil {
		return packed
	}
	s.rereadPages()
	return p.packed
}

// mend reads the rows of all packed pages from the capture, once. Rows that cannot be read any more are lost.
func (s *rowStore) rereadPages() {
	if s.reread {
		return
	}
	s.reread = true
	reread := newCapture(s.owner.Path)
	reread.bundled = s.owner.bundled
	reread.progress.mark = s.owner.progress.mark
	_, _ = reread.readOn(int(s.owner.progress.offset))
	reread.stopReading()
	for i, p := range reread.packAll() {
		if i < len(s.pages) && s.pages[i].rows == nil {
			s.pages[i].packed = p.packed
		}
	}
	os.Remove(s.pageFile.path)
}

// A page has pageRows rows, the last one perhaps less.
type page struct {
	// rows is nil where they are packed; block is where they are, which is kept if rows of other
	// pages name some of them. Packed they are in memory, or else in the file: at, length and sum
	// are their place and checksum there.
	rows     []*Row
	block    []Row
	retained bool
	packed   []byte
	at       int64
	length   int
	sum      uint32
	// first is the number of the first row, from 0.
	first int
	// from and to are the first and the last byte in the file of the lines of its rows, used is
	// set where they were looked at since used was cleared.
	from, to int64
	used     bool
	// least and most are what its rows measure at least and at most.
	lowest, highest measures
}

// measures are what filters compare of a row: Time in nanoseconds since 1970, Duration, First and
// Size. Those that no row of a page has are at most less than at least.
type measures struct{ time, duration, first, size int64 }

// measure notes what a row measures.
func (p *page) measure(r *Row) {
	widen := func(low, high *int64, n int64) {
		*low = min(*low, n)
		*high = max(*high, n)
	}
	if !r.Time.IsZero() {
		widen(&p.lowest.time, &p.highest.time, r.Time.UnixNano())
	}
	if r.First > 0 {
		widen(&p.lowest.first, &p.highest.first, int64(r.First))
	}
	widen(&p.lowest.duration, &p.highest.duration, int64(r.Duration))
	widen(&p.lowest.size, &p.highest.size, r.Size())
}

// Tests have smaller pages.
var (
	pageRows = 256
	// mostUnpacked is how many pages stay unpacked while a file is read.
	maxUnpackedPages = 24
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
		p := &page{rows: make([]*Row, 0, pageRows), block: s.takeBlock(), first: r.nth}
		s.pages, s.unpacked = append(s.pages, p), append(s.unpacked, p)
	}
	p := s.pages[r.nth/pageRows]
	s.unpackPage(p)
	own := &p.block[r.nth%pageRows]
	*own = r
	p.rows = append(p.rows, own)
	return own
}

// keep keeps the memory of a row that another one names.
func (s *rowStore) retain(r *Row) {
	if s.all == nil {
		s.pages[r.nth/pageRows].retained = true
	}
}

// room is memory for the rows of a page.
func (s *rowStore) takeBlock() []Row {
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
	s.unpackPage(p)
	return p.rows[nth%pageRows]
}

func (s *rowStore) unpackPage(p *page) {
	p.used = true
	if p.rows == nil {
		block := s.takeBlock()
		n := s.decodePage(p, block)
		p.block = block
		p.rows = make([]*Row, 0, pageRows)
		for i := range block[:n] {
			p.rows = append(p.rows, &block[i])
		}
		p.packed, s.unpacked = nil, append(s.unpacked, p)
	}
}

// packOld packs pages that were not used for long. Pointers to their rows are of no use then.
func (s *rowStore) packOld() {
	for len(s.unpacked) > maxUnpackedPages {
		p := s.unpacked[0]
		s.unpacked = s.unpacked[1:]
		if p.used {
			p.used = false
			s.unpacked = append(s.unpacked, p)
			continue
		}
		s.packPage(p)
		if !p.retained {
			clear(p.block)
			s.blocks = append(s.blocks, p.block)
		}
		p.block = nil
		p.retained = false
	}
}

// packAll gives all pages packed.
func (s *rowStore) packAll() []*page {
	for _, p := range s.unpacked {
		s.packPage(p)
	}
	s.unpacked = nil
	if s.all == nil {
		return s.pages
	}
	var pages []*page
	for part := range slices.Chunk(s.all, pageRows) {
		p := &page{rows: part}
		s.packPage(p)
		pages = append(pages, p)
	}
	return pages
}

// Rows are the exchanges in the order of their requests. They are the Capture's own and change
// with Refresh. Of a large capture they take much memory: see Pages.
func (s *rowStore) Rows() []*Row {
	if s.all == nil {
		rows := make([]*Row, 0, s.count)
		for _, p := range s.pages {
			s.unpackPage(p)
			rows = append(rows, p.rows...)
		}
		for _, r := range rows {
			if r.Within != nil {
				r.Within = rows[r.Within.nth]
			}
			for i, other := range r.Guesses {
				r.Guesses[i] = rows[other.nth]
			}
		}
		s.all = rows
		s.pages = nil
		s.unpacked = nil
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
func (p Page) Select(accept func(*Row) bool) (selected []*Row) {
	if p.rows != nil {
		for _, r := range p.rows {
			if accept(r) {
				selected = append(selected, r)
			}
		}
		return selected
	}
	pooled := rowBlocks.Get().(*[]Row)
	defer rowBlocks.Put(pooled)
	*pooled = slices.Grow((*pooled)[:0], pageRows)
	block := (*pooled)[:pageRows]
	for i := range block[:p.store.decodePage(p.page, block)] {
		if accept(&block[i]) {
			own := block[i]
			selected = append(selected, &own)
		}
	}
	clear(block)
	return selected
}

// Samples are rows with all that the rows of the page have, but their own Time, ID, Duration,
// First, Sent, Received, Guesses, Within and SameAs; more than one where rows differ in the rest. They
// are nil where that is not known without looking at the rows.
func (p Page) Samples() []Row {
	if p.rows != nil {
		return nil
	}
	return unpack(p.store.loadPacked(p.page)).samples(p.store)
}

// Bounds are rows with the least and the greatest Time, Duration, First and Size of the rows of a page
// that has Samples. Where no row has a Time or a First, they have none.
func (p Page) Bounds() (least, most Row) {
	bounds := p.page
	if bounds.lowest.time <= bounds.highest.time {
		least.Time, most.Time = time.Unix(0, bounds.lowest.time), time.Unix(0, bounds.highest.time)
	}
	if bounds.lowest.first <= bounds.highest.first {
		least.First = time.Duration(bounds.lowest.first)
		most.First = time.Duration(bounds.highest.first)
	}
	least.Duration, most.Duration = time.Duration(bounds.lowest.duration), time.Duration(bounds.highest.duration)
	least.Received = bounds.lowest.size
	most.Received = bounds.highest.size
	return least, most
}

func (s *rowStore) newConn() *conn {
	c := &conn{number: len(s.conns) + 1}
	s.conns = append(s.conns, c)
	return c
}
