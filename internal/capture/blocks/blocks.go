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

	// longest is how much of a text is sought: with it a character by its number that begins in
	// the text has at least three bytes in the block and the overlap.
	longest = overlap - 8

	mostBits  = 15 // a filter has at most 1<<mostBits bits
	leastBits = 9
)

// A filter has the groups of a block by their hash: a byte for each is written faster than a
// bit.
type filter struct {
	seen [1 << mostBits]byte
	bits [1 << mostBits / 8]byte
	// escapes is set where a backslash stands before a u or U.
	escapes bool
}

// Write writes the filters of size bytes of r.
func Write(w io.Writer, r io.ReaderAt, size int64) error {
	out := bufio.NewWriterSize(w, Size)
	buf := make([]byte, Size+overlap)
	f := filter{}
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
	clear(f.seen[:])
	f.add(block)
	if f.spelledOtherwise(block) {
		out.WriteByte(0)
		return
	}
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
// hold anything. The groups of the block say whether one has to look.
func (f *filter) spelledOtherwise(block []byte) bool {
	if f.has("raw") && f.has("aw6") && f.has("w64") && f.has(`64"`) && bytes.Contains(block, []byte(`"raw64":`)) {
		return true
	}
	return f.escapes && SpelledByNumber(block)
}

// has reports whether a group in small letters may stand in the block.
func (f *filter) has(group string) bool { return f.seen[hash(groupOf([]byte(group)))] == 1 }

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

const each, high = 0x0101010101010101, 0x8080808080808080

// small is eight bytes with capital letters made small, as case makes no difference.
func small(x uint64) uint64 {
	low := x &^ high
	fromA, behindZ := low+(0x80-'A')*each, low+(0x7f-'Z')*each // have the highest bit of a byte set
	return x | (fromA&^behindZ&^x&high)>>2
}

// zeroBytes is 0 where none of eight bytes is.
func zeroBytes(x uint64) uint64 { return (x - each) &^ x & high }

// groupOf is the first three bytes of a text.
func groupOf(text []byte) uint32 { return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 }

// hash is that of three bytes in the low bits of a number.
func hash(group uint32) uint32 { return (group & 0xffffff * 0x165667b1) >> (32 - mostBits) }

// add notes the groups of a block, six with each eight bytes.
func (f *filter) add(block []byte) {
	f.escapes = bytes.Contains(block[max(len(block)-8, 0):], []byte(`\u`)) // which the loop does not see
	numbers := uint64(0)
	for ; len(block) >= 8; block = block[6:] {
		x := small(binary.LittleEndian.Uint64(block))
		numbers |= zeroBytes((x ^ '\\'*each) | (x>>8 ^ 'u'*each))
		f.seen[hash(uint32(x))] = 1
		f.seen[hash(uint32(x>>8))] = 1
		f.seen[hash(uint32(x>>16))] = 1
		f.seen[hash(uint32(x>>24))] = 1
		f.seen[hash(uint32(x>>32))] = 1
		f.seen[hash(uint32(x>>40))] = 1
	}
	f.escapes = f.escapes || numbers != 0
	var last [8]byte
	copy(last[:], block)
	binary.LittleEndian.PutUint64(last[:], small(binary.LittleEndian.Uint64(last[:])))
	for i := range max(len(block)-2, 0) {
		f.seen[hash(groupOf(last[i:]))] = 1
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
	for _, text := range texts {
		text = bytes.Clone(text[:min(len(text), longest)])
		for i, b := range text {
			if b >= 'A' && b <= 'Z' {
				text[i] += 'a' - 'A'
			}
		}
		var hashes []uint32
		for i := 0; i+3 <= len(text); i++ {
			if a, b, c := text[i], text[i+1], text[i+2]; plain(a) && plain(b) && plain(c) {
				hashes = append(hashes, hash(groupOf(text[i:])))
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
