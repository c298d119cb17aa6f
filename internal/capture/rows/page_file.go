package rows

import (
	"hash/crc32"
	"os"

	"mcpc/internal/capture"
)

// store keeps a page that was packed.
func (s *rowStore) store(p *page, packed []byte) {
	if p.packed = packed; s.end == 0 {
		return
	}
	p.at, p.length, p.sum = s.end, len(packed), crc32.Checksum(packed, castagnoli())
	if _, err := s.file.WriteAt(packed, p.at); err == nil {
		p.packed = nil
		s.end += int64(p.length)
	}
}

// load gives a packed page. Where the file has it no more, or not as it was written, all is
// read again.
func (s *rowStore) load(p *page) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.packed != nil {
		return p.packed
	}
	if s.file == nil {
		s.file, _ = capture.OpenPlain(s.path, os.O_RDONLY)
	}
	if s.file != nil {
		packed := make([]byte, p.length)
		if _, err := s.file.ReadAt(packed, p.at); err == nil && crc32.Checksum(packed, castagnoli()) == p.sum {
			return packed
		}
	}
	s.mend()
	return p.packed
}

// mend reads the rows of all packed pages from the capture. Of one that cannot be read any more
// they are lost.
func (s *rowStore) mend() {
	if s.mended {
		return
	}
	s.mended = true
	again := newCapture(s.owner.Path)
	again.held = s.owner.held
	again.mark = s.owner.mark
	_, _ = again.readOn(int(s.owner.offset))
	again.stop()
	for i, p := range again.packAll() {
		if i < len(s.pages) && s.pages[i].rows == nil {
			s.pages[i].packed = p.packed
		}
	}
	os.Remove(s.path)
}

// release closes the file.
func (s *rowStore) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end == 0 && s.file != nil {
		s.file.Close()
		s.file = nil
	}
}
