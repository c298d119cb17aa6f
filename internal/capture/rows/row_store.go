package rows

import (
	"hash/crc32"
	"os"
	"slices"
	"sync"
	"time"

	"mcpc/internal/capture"
)

// A rowStore holds the rows of a capture in pages. Pages that are not in use are packed, in the
// form of an index: a capture may have millions of rows, and a row takes about 1 KiB, but packed
// only some 30 bytes.
type rowStore struct {
	owner *Capture
	pages []*page
	count int
	// allRows are the rows, once Rows was called. From then on there are no pages.
	allRows []*Row
	// unpacked are the pages that are not packed, in the order they were unpacked in.
	unpacked []*page
	// freeBlocks are the memory of packed pages, to be reused.
	freeBlocks [][]Row
	// conns are the conversations, by their number less 1.
	conns    []*conn
	packing  packing
	pageFile pageFile
	// reread is set once rereadPages was called.
	reread bool
}

// A pageFile is an index file, or a file that becomes one, with packed pages.
type pageFile struct {
	// mu guards the fields below while a page is read.
	mu   sync.Mutex
	path string
	// file is open while it is written and after a page was read; else nil.
	file *os.File
	// end is the offset of the next page that is written; 0 if no pages are written.
	end int64
}

// begin sets the file and the offset that pages are written to. A nil file ends the writing.
func (f *pageFile) begin(file *os.File, offset int64) {
	f.file = file
	f.end = offset
}

// write writes the packed rows of a page. It reports whether the file has them now.
func (f *pageFile) write(p *page, packed []byte) bool {
	if f.end == 0 {
		return false
	}
	p.offset = f.end
	p.length = len(packed)
	p.checksum = crc32.Checksum(packed, castagnoli())
	if _, err := f.file.WriteAt(packed, p.offset); err != nil {
		return false
	}
	f.end += int64(p.length)
	return true
}

// read returns the packed rows of a page. It returns nil if the file does not have them or their
// checksum is wrong.
func (f *pageFile) read(p *page) []byte {
	if f.file == nil {
		f.file, _ = capture.OpenPlain(f.path, os.O_RDONLY)
	}
	if f.file == nil {
		return nil
	}
	packed := make([]byte, p.length)
	if _, err := f.file.ReadAt(packed, p.offset); err != nil || crc32.Checksum(packed, castagnoli()) != p.checksum {
		return nil
	}
	return packed
}

// close closes the file unless it is being written.
func (f *pageFile) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end == 0 && f.file != nil {
		f.file.Close()
		f.file = nil
	}
}

// storePacked keeps the packed rows of a page, in the index file if one is being written, else in
// memory.
func (s *rowStore) storePacked(p *page, packed []byte) {
	p.packed = packed
	if s.pageFile.write(p, packed) {
		p.packed = nil
	}
}

// loadPacked returns the packed rows of a page. If the index file does not have them any more, it
// reads all rows again.
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

// rereadPages reads the rows of all packed pages from the capture, once, and deletes the index
// file. It loses rows that cannot be read any more.
func (s *rowStore) rereadPages() {
	if s.reread {
		return
	}
	s.reread = true
	reread := newCapture(s.owner.Path)
	reread.bundled = s.owner.bundled
	reread.progress.mark = s.owner.progress.mark // rows of a different file are not read
	_, _ = reread.readOn(int(s.owner.progress.offset))
	reread.stopReading()
	for i, p := range reread.packAll() {
		if i < len(s.pages) && s.pages[i].rows == nil {
			s.pages[i].packed = p.packed
		}
	}
	os.Remove(s.pageFile.path)
}

// A page has pageRows rows; the last one may have less.
type page struct {
	// rows is nil while they are packed.
	rows []*Row
	// block is the memory of the rows.
	block []Row
	// retained is set if rows of other pages refer to some of the rows: block is not reused then.
	retained bool
	// packed are the packed rows; nil if they are in the index file.
	packed []byte
	// offset, length and checksum are the place and the checksum of the packed rows in the index file.
	offset   int64
	length   int
	checksum uint32
	// firstRow is the number of the first row, from 0.
	firstRow int
	// linesStart and linesEnd are the range in the capture with the lines of the rows.
	linesStart, linesEnd int64
	// recentlyUsed is set by unpackPage, and cleared by packOld.
	recentlyUsed bool
	// lowest and highest bound the measures of the rows.
	lowest, highest measures
}

// measures are the values of a row that filters compare: Time in nanoseconds since 1970, Duration,
// First and Size. If no row of a page has a value, its lowest is greater than its highest.
type measures struct{ time, duration, first, size int64 }

// measure widens the bounds of the page to include the row.
func (p *page) measure(r *Row) {
	widen := func(low, high *int64, n int64) {
		*low = min(*low, n)
		*high = max(*high, n)
	}
	if !r.Time.IsZero() {
		widen(&p.lowest.time, &p.highest.time, r.Time.UnixNano())
	}
	if r.TimeToFirst > 0 {
		widen(&p.lowest.first, &p.highest.first, int64(r.TimeToFirst))
	}
	widen(&p.lowest.duration, &p.highest.duration, int64(r.Duration))
	widen(&p.lowest.size, &p.highest.size, r.Size())
}

var (
	// pageRows is how many rows a page has. Tests set a smaller number.
	pageRows = 256
	// maxUnpackedPages is how many pages stay unpacked while a file is read. Tests set a smaller number.
	maxUnpackedPages = 24
)

// add adds a row and returns its place in the store.
func (s *rowStore) add(r Row) *Row {
	r.fileIndex = s.count
	defer func() { s.count++ }() // unpackPage below counts without the new row
	if s.allRows != nil {
		own := r
		s.allRows = append(s.allRows, &own)
		return &own
	}
	if r.fileIndex%pageRows == 0 {
		p := &page{rows: make([]*Row, 0, pageRows), block: s.takeBlock(), firstRow: r.fileIndex}
		s.pages = append(s.pages, p)
		s.unpacked = append(s.unpacked, p)
	}
	p := s.pages[r.fileIndex/pageRows]
	// The last page may have been packed.
	s.unpackPage(p)
	own := &p.block[r.fileIndex%pageRows]
	*own = r
	p.rows = append(p.rows, own)
	return own
}

// retain keeps the memory of a row that another row refers to.
func (s *rowStore) retain(r *Row) {
	if s.allRows == nil {
		s.pages[r.fileIndex/pageRows].retained = true
	}
}

// takeBlock returns memory for the rows of a page.
func (s *rowStore) takeBlock() []Row {
	if n := len(s.freeBlocks); n > 0 {
		block := s.freeBlocks[n-1]
		s.freeBlocks = s.freeBlocks[:n-1]
		return block
	}
	return make([]Row, pageRows)
}

// rowAt returns a row by its number from 0. The address of a row changes with each call after it was
// packed, unless Rows was called.
func (s *rowStore) rowAt(nth int) *Row {
	if s.allRows != nil {
		return s.allRows[nth]
	}
	p := s.pages[nth/pageRows]
	s.unpackPage(p)
	return p.rows[nth%pageRows]
}

// unpackPage unpacks the rows of a page if they are packed.
func (s *rowStore) unpackPage(p *page) {
	p.recentlyUsed = true
	if p.rows == nil {
		block := s.takeBlock()
		n := s.decodePage(p, block)
		p.block = block
		p.rows = make([]*Row, 0, pageRows)
		for i := range block[:n] {
			p.rows = append(p.rows, &block[i])
		}
		p.packed = nil
		s.unpacked = append(s.unpacked, p)
	}
}

// packOld packs the pages that were not used for long, until at most maxUnpackedPages are unpacked.
// Pointers to their rows become invalid.
func (s *rowStore) packOld() {
	for len(s.unpacked) > maxUnpackedPages {
		p := s.unpacked[0]
		s.unpacked = s.unpacked[1:]
		if p.recentlyUsed { // it stays until it was not used for a whole round
			p.recentlyUsed = false
			s.unpacked = append(s.unpacked, p)
			continue
		}
		s.packPage(p)
		if !p.retained {
			clear(p.block)
			s.freeBlocks = append(s.freeBlocks, p.block)
		}
		p.block = nil
		p.retained = false
	}
}

// packAll packs all rows and returns the pages. After a call of Rows the store has no pages, so
// they are new.
func (s *rowStore) packAll() []*page {
	for _, p := range s.unpacked {
		s.packPage(p)
	}
	s.unpacked = nil
	if s.allRows == nil {
		return s.pages
	}
	var pages []*page
	for part := range slices.Chunk(s.allRows, pageRows) {
		p := &page{rows: part}
		s.packPage(p)
		pages = append(pages, p)
	}
	return pages
}

// Rows returns all exchanges in the order of their requests. The rows belong to the Capture and
// change with Refresh. The rows of a large capture take much memory; use Pages to avoid that.
func (s *rowStore) Rows() []*Row {
	if s.allRows == nil {
		rows := make([]*Row, 0, s.count)
		for _, p := range s.pages {
			s.unpackPage(p)
			rows = append(rows, p.rows...)
		}
		// Unpacked rows refer to stand-ins with only a number: replace them by the rows.
		for _, r := range rows {
			if r.Within != nil {
				r.Within = rows[r.Within.fileIndex]
			}
			for i, other := range r.Guesses {
				r.Guesses[i] = rows[other.fileIndex]
			}
		}
		s.allRows = rows
		s.pages = nil
		s.unpacked = nil
	}
	if len(s.allRows) == 0 {
		return nil
	}
	return s.allRows
}

// Count returns the number of rows.
func (s *rowStore) Count() int { return s.count }

// Row returns the row with a number in the file, from 1, or nil without such a row.
func (s *rowStore) Row(n int) *Row {
	if n < 1 || n > s.count || s.allRows != nil && n > len(s.allRows) {
		return nil
	}
	return s.rowAt(n - 1)
}

// A Page is some consecutive rows of a capture.
type Page struct {
	store *rowStore
	page  *page
	// rows is nil if the page is packed.
	rows []*Row
}

// Pages returns all rows in their order. Several goroutines may read pages, as long as no goroutine
// calls another method of the Capture that returns rows.
func (s *rowStore) Pages() []Page {
	var pages []Page
	for part := range slices.Chunk(s.allRows, pageRows) {
		pages = append(pages, Page{rows: part})
	}
	for _, p := range s.pages {
		pages = append(pages, Page{s, p, p.rows})
	}
	return pages
}

var rowBlocks = sync.Pool{New: func() any { return new([]Row) }}

// Select returns the rows that accept accepts, in their order. accept must not keep the row: the
// rows of a packed page are decoded into reused memory, and the result has copies.
func (p Page) Select(accept func(*Row) bool) []*Row {
	var selected []*Row
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

// Samples returns rows with every combination of values in the page's rows, except Time, ID,
// Duration, TimeToFirst, Sent, Received, Guesses, Within and SameAs. It returns nil if the page is
// not packed.
func (p Page) Samples() []Row {
	if p.rows != nil {
		return nil
	}
	return unpack(p.store.loadPacked(p.page)).readSamples(p.store)
}

// Bounds returns rows with the least and the greatest Time, Duration, TimeToFirst and Size in a
// packed page. Time and TimeToFirst stay zero if no row has them.
func (p Page) Bounds() (least, most Row) {
	bounds := p.page
	if bounds.lowest.time <= bounds.highest.time {
		least.Time = time.Unix(0, bounds.lowest.time)
		most.Time = time.Unix(0, bounds.highest.time)
	}
	if bounds.lowest.first <= bounds.highest.first {
		least.TimeToFirst = time.Duration(bounds.lowest.first)
		most.TimeToFirst = time.Duration(bounds.highest.first)
	}
	least.Duration = time.Duration(bounds.lowest.duration)
	most.Duration = time.Duration(bounds.highest.duration)
	least.Received = bounds.lowest.size // Size is the sum of Sent and Received
	most.Received = bounds.highest.size
	return least, most
}

// newConn adds a conversation.
func (s *rowStore) newConn() *conn {
	c := &conn{number: len(s.conns) + 1}
	s.conns = append(s.conns, c)
	return c
}
