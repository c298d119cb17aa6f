// Package blocks tells which parts of a large file may hold a text, without reading them: of
// each block it has which groups of three letters stand there, as a Bloom filter.
package blocks

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
)

const (
	// Size is how many bytes a block has. Each is taken together with the first overlap bytes
	// of the next one, so that a text that begins in a block is found in it.
	Size    = 64 << 10
	overlap = 256

	mostBits  = 15 // a filter has at most 1<<mostBits bits
	leastBits = 9
)

// A filter has the groups of a block by their hash: a byte for each is written faster than a
// bit.
type filter struct {
	seen  [1 << mostBits]byte
	small [256]byte
	bits  [1 << mostBits / 8]byte
}

// Write writes the filters of size bytes of r.
func Write(w io.Writer, r io.ReaderAt, size int64) error {
	out := bufio.NewWriterSize(w, Size)
	buf := make([]byte, Size+overlap)
	f := filter{small: smallLetters()}
	for at := int64(0); at < size; at += Size {
		part := buf[:min(int64(len(buf)), size-at)]
		if n, err := r.ReadAt(part, at); n < len(part) {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
		f.write(out, part)
	}
	return out.Flush()
}

// write writes the filter of a block: how many bits it has as a power of two, and these. It
// is made smaller as long as at most half of the bits are set; 0 bits stand for all.
func (f *filter) write(out *bufio.Writer, block []byte) {
	if spelledOtherwise(block) {
		out.WriteByte(0)
		return
	}
	clear(f.seen[:])
	f.add(block)
	size, part := mostBits, f.pack()
	for size > leastBits && 4*ones(part) <= 8*len(part) {
		half := len(part) / 2
		for i, b := range part[half:] {
			part[i] |= b
		}
		part, size = part[:half], size-1
	}
	out.WriteByte(byte(size))
	out.Write(part)
}

// pack makes bits of the bytes.
func (f *filter) pack() []byte {
	for i := range f.bits {
		// Each of the eight bytes is 0 or 1: their sum by this product is in its highest byte.
		f.bits[i] = byte(binary.LittleEndian.Uint64(f.seen[8*i:]) * 0x0102040810204080 >> 56)
	}
	return f.bits[:]
}

// spelledOtherwise reports bytes in base64, or characters by their number: such a block may
// hold anything.
func spelledOtherwise(block []byte) bool {
	return bytes.Contains(block, []byte(`"raw64":`)) || SpelledByNumber(block)
}

// SpelledByNumber reports an escape such as \u0061. A backslash of the message itself has
// another before it.
func SpelledByNumber(text []byte) bool {
	for at := 0; ; at += 2 {
		next := bytes.Index(text[at:], []byte(`\u`))
		if next < 0 {
			return false
		}
		at += next
		before := at
		for before > 0 && text[before-1] == '\\' {
			before--
		}
		if (at-before)%2 == 0 {
			return true
		}
	}
}

func ones(part []byte) (n int) {
	for ; len(part) > 0; part = part[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(part))
	}
	return n
}

// smallLetters are the bytes with capital letters made small, as case makes no difference.
func smallLetters() (t [256]byte) {
	for i := range t {
		if t[i] = byte(i); i >= 'A' && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}

// hash is that of three bytes in the low bits of a number.
func hash(group uint32) uint32 { return (group & 0xffffff * 0x9e3779b1) >> (32 - mostBits) }

func (f *filter) add(block []byte) {
	if len(block) < 3 {
		return
	}
	group := uint32(f.small[block[0]])<<8 | uint32(f.small[block[1]])
	for _, b := range block[2:] {
		group = group<<8 | uint32(f.small[b])
		f.seen[hash(group)&(1<<mostBits-1)] = 1
	}
}

// A Sought is what a line has to hold one of, in any case, as far as filters can tell.
type Sought struct{ groups [][]uint32 }

// Seek makes a Sought of texts; nil where one of them is too short to be told.
func Seek(texts [][]byte) *Sought {
	s := &Sought{}
	if len(texts) == 0 {
		return nil
	}
	small := smallLetters()
	for _, text := range texts {
		text = text[:min(len(text), overlap)]
		var hashes []uint32
		for i := 0; i+3 <= len(text); i++ {
			if a, b, c := text[i], text[i+1], text[i+2]; plain(a) && plain(b) && plain(c) {
				hashes = append(hashes, hash(uint32(small[a])<<16|uint32(small[b])<<8|uint32(small[c])))
			}
		}
		if hashes == nil {
			return nil
		}
		s.groups = append(s.groups, hashes)
	}
	return s
}

// plain reports a byte that is always spelled in one way, and has a small letter of its own.
func plain(b byte) bool { return b < 0x80 && b != '/' }

// A Set is which blocks may hold what is sought.
type Set struct {
	may []bool
	// size is that of the file when the filters were written.
	size int64
}

// ErrDamaged is the error of filters that are not as Write writes them.
var ErrDamaged = errors.New("damaged")

// Read finds in the filters of size bytes which blocks may hold what is sought.
func Read(r io.Reader, size int64, sought *Sought) (*Set, error) {
	in := bufio.NewReaderSize(r, Size)
	s := &Set{size: size}
	for at := int64(0); at < size; at += Size {
		bits, err := in.ReadByte()
		switch {
		case err != nil:
			return nil, err
		case bits == 0:
			s.may = append(s.may, true)
			continue
		case bits < leastBits || bits > mostBits:
			return nil, ErrDamaged
		}
		words, err := in.Peek(1 << bits / 8)
		if err != nil {
			return nil, err
		}
		s.may = append(s.may, sought.may(words))
		if _, err := in.Discard(len(words)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Sought) may(filter []byte) bool {
	mask := uint32(len(filter)*8 - 1)
	for _, hashes := range s.groups {
		all := true
		for _, h := range hashes {
			if h &= mask; filter[h>>3]>>(h&7)&1 == 0 {
				all = false
				break
			}
		}
		if all {
			return true
		}
	}
	return false
}

// May reports whether a part of the file may hold what is sought.
func (s *Set) May(at int64, length int) bool {
	if s == nil || at < 0 || at+int64(length) > s.size {
		return true
	}
	for block := at / Size; block*Size < at+int64(length); block++ {
		if s.may[block] {
			return true
		}
	}
	return false
}
