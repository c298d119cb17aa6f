// Package packed keeps text compressed so that it can be read from any offset: zstd in
// independent frames, with a table of the frames at the end (the seekable format of zstd). zstd
// -d decompresses such a file too.
package packed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// Extension is the suffix of file names, and Magic the first bytes of a file.
	Extension = ".zst"
	Magic     = "\x28\xB5\x2F\xFD"
	// frameSize is the size of the text in each frame that Write writes, in bytes.
	frameSize = 256 << 10
	// maxFrameText bounds the text of a frame that is read, in bytes. maxFrames bounds the frames of a
	// file. MaxText bounds the text that Write writes, in bytes.
	maxFrameText = 1 << 20
	maxFrames    = 64 << 10
	MaxText      = maxFrames * frameSize
	// maxFrameOverhead bounds the bytes that a frame has in addition to its text.
	maxFrameOverhead = 1 << 10

	tableMagic  = 0x184D2A5E
	footerMagic = 0x8F92EAB1
	headSize    = 8
	entryBytes  = 8 // of a frame in the table: its length and the length of its text
	footerSize  = 9
	// withSums is the bit of the descriptor for entries with a checksum. reserved are the bits that
	// must be 0.
	withSums = 0x80
	reserved = 0x7c
)

var (
	// ErrNone is the error of a file that is not compressed with zstd.
	ErrNone = errors.New("not compressed with zstd")
	// ErrTooLarge is the error of text that needs too much memory or has too many frames.
	ErrTooLarge = errors.New("it has frames of more than 1 MiB, or too many of them; zstd -d decompresses it")
	// errNotSame is the error of a frame that does not decompress to its text.
	errNotSame = errors.New("it is not decompressed to the same text")
)

// A DamagedError is the error of a file that can only be read up to a place: Text bytes of text.
type DamagedError struct{ Text int64 }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the compressed file is truncated or damaged; %d bytes of its text can be read", e.Text)
}

// decoder is shared by all Readers and Write. It decompresses up to four frames at a time, and
// never more bytes than the buffer has.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(slots), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxFrameText), zstd.WithDecoderMaxWindow(maxFrameText))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})

// Write compresses a text. It decompresses each frame again and compares it, because the caller may
// delete the text afterwards. It returns ErrTooLarge if the text exceeds MaxText.
func Write(w io.Writer, r io.Reader) error {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(frameSize), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return err
	}
	text := make([]byte, frameSize)
	again := make([]byte, frameSize)
	var out, entries []byte
	for {
		n, err := io.ReadFull(r, text)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if n == 0 {
			break
		}
		out = encoder.EncodeAll(text[:n], out[:0])
		if back, err := decoder().DecodeAll(out, again[:0]); err != nil || !bytes.Equal(back, text[:n]) {
			return errors.Join(errNotSame, err)
		}
		entries = binary.LittleEndian.AppendUint32(entries, uint32(len(out)))
		entries = binary.LittleEndian.AppendUint32(entries, uint32(n))
		if len(entries) > entryBytes*maxFrames {
			return ErrTooLarge
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	table := binary.LittleEndian.AppendUint32(nil, tableMagic)
	table = binary.LittleEndian.AppendUint32(table, uint32(len(entries)+footerSize))
	table = append(table, entries...)
	table = binary.LittleEndian.AppendUint32(table, uint32(len(entries)/entryBytes))
	table = append(table, 0) // the descriptor: no checksums
	table = binary.LittleEndian.AppendUint32(table, footerMagic)
	_, err = w.Write(table)
	return err
}

// slots is the number of frames that a Reader keeps in memory.
const slots = 4

// A Reader reads a compressed text at any offset. Several goroutines may use it.
type Reader struct {
	src io.ReaderAt
	// frames are the beginnings of the frames, and the end of the last frame.
	frames []place
	// end is the error of reading after the last frame.
	end   error
	slots [slots]slot
}

// A place is the offset of a frame in the file and the offset of its text.
type place struct{ fileOffset, textOffset int64 }

// A slot holds the text of one frame: the last frame that was read with this index modulo slots. It
// has no text if no such frame was read.
type slot struct {
	mu        sync.Mutex
	frame     int
	raw, text []byte
}

// Open reads the table of the frames. If the file has no valid table, it finds the frames from the
// beginning. It returns errors of the file, ErrNone and ErrTooLarge. ReadAt reports damage.
func Open(src io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{src: src, frames: []place{{}}, end: io.EOF}
	if r.readTable(size) {
		return r, nil
	}
	r.frames = r.frames[:1]
	return r, r.findFrames(size)
}

// Size returns the length of the text that can be read.
func (r *Reader) Size() int64 { return r.last().textOffset }

// last returns the end of the last frame.
func (r *Reader) last() place { return r.frames[len(r.frames)-1] }

// add adds a frame, given by its length in the file and the length of its text.
func (r *Reader) add(length, text int64) {
	last := r.last()
	r.frames = append(r.frames, place{last.fileOffset + length, last.textOffset + text})
}

// readTable reads the table at the end of the file, and reports whether it is valid.
func (r *Reader) readTable(size int64) bool {
	var footer [footerSize]byte
	if _, err := r.src.ReadAt(footer[:], size-footerSize); size < footerSize || err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	count := int64(binary.LittleEndian.Uint32(footer[:]))
	kind := footer[4]
	if binary.LittleEndian.Uint32(footer[5:]) != footerMagic || kind&reserved != 0 || count > maxFrames {
		return false
	}
	entrySize := int64(entryBytes)
	if kind&withSums != 0 { // the frames have their own checksums
		entrySize += 4
	}
	table := make([]byte, headSize+count*entrySize)
	begin := size - int64(len(table)) - footerSize
	if begin < 0 {
		return false
	}
	if _, err := r.src.ReadAt(table, begin); err != nil {
		return false
	}
	length := int64(binary.LittleEndian.Uint32(table[4:]))
	if binary.LittleEndian.Uint32(table) != tableMagic || length != count*entrySize+footerSize {
		return false
	}
	for entry := table[headSize:]; len(entry) > 0; entry = entry[entrySize:] {
		length := int64(binary.LittleEndian.Uint32(entry))
		text := int64(binary.LittleEndian.Uint32(entry[4:]))
		if text > maxFrameText || length > text+maxFrameOverhead {
			return false
		}
		r.add(length, text)
	}
	return r.last().fileOffset == begin
}

// findFrames finds the frames by their headers, one after the other. The text ends after the last
// complete frame.
func (r *Reader) findFrames(size int64) error {
	for r.last().fileOffset < size {
		text, length, err := r.frameAt(r.last().fileOffset, size)
		first := len(r.frames) == 1
		if len(r.frames) > maxFrames || first && errors.Is(err, ErrTooLarge) {
			return ErrTooLarge
		}
		if first && errors.Is(err, zstd.ErrMagicMismatch) {
			return ErrNone
		}
		if err != nil {
			r.end = &DamagedError{r.Size()}
			return nil
		}
		r.add(length, text)
	}
	return nil
}

// frameAt returns the length of the text of a frame and the length of the frame, without
// decompressing it.
func (r *Reader) frameAt(at, size int64) (text, length int64, err error) {
	var head zstd.Header
	begin := make([]byte, min(zstd.HeaderMaxSize, size-at))
	if _, err := r.src.ReadAt(begin, at); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	if err := head.Decode(begin); err != nil {
		return 0, 0, err
	}
	length = int64(head.HeaderSize)
	if head.Skippable {
		length += int64(head.SkippableSize)
	} else if !head.HasFCS || head.FrameContentSize > maxFrameText {
		return 0, 0, ErrTooLarge
	}
	for last := head.Skippable; !last; {
		var block [3]byte
		if _, err := r.src.ReadAt(block[:], at+length); err != nil {
			return 0, 0, err
		}
		bits := int64(block[0]) | int64(block[1])<<8 | int64(block[2])<<16
		last = bits&1 != 0
		length += int64(len(block))
		if isRepeatedByte := bits>>1&3 == 1; isRepeatedByte {
			length++
		} else {
			length += bits >> 3
		}
		if length > maxFrameText+maxFrameOverhead {
			return 0, 0, ErrTooLarge
		}
	}
	if head.HasCheckSum {
		length += 4
	}
	if at+length > size {
		return 0, 0, io.ErrUnexpectedEOF
	}
	return int64(head.FrameContentSize), length, nil
}

// ReadAt reads text at an offset. The error is a *DamagedError after the last frame of a truncated
// file, and in a damaged frame.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	for n < len(p) {
		at := off + int64(n)
		// The last element of frames is no frame: it is where the text ends.
		i := sort.Search(len(r.frames)-1, func(i int) bool { return r.frames[i+1].textOffset > at })
		if i == len(r.frames)-1 {
			return n, r.end
		}
		done, err := r.copyFrom(i, p[n:], at)
		n += done
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// copyFrom copies text of the frame i to p, from an offset of the whole text.
func (r *Reader) copyFrom(i int, p []byte, at int64) (int, error) {
	s := &r.slots[i%slots]
	s.mu.Lock()
	defer s.mu.Unlock()
	from := r.frames[i]
	to := r.frames[i+1]
	if len(s.text) == 0 || s.frame != i {
		if err := s.read(r.src, from, to); err != nil {
			s.text = s.text[:0]
			return 0, err
		}
		s.frame = i
	}
	return copy(p, s.text[at-from.textOffset:]), nil
}

// read decompresses the frame between two places into the slot.
func (s *slot) read(src io.ReaderAt, from, to place) error {
	s.raw = resize(s.raw, to.fileOffset-from.fileOffset)
	s.text = resize(s.text, to.textOffset-from.textOffset)
	length := len(s.text)
	_, err := src.ReadAt(s.raw, from.fileOffset)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err == nil {
		s.text, err = decoder().DecodeAll(s.raw, s.text[:0:length])
	}
	if err != nil || len(s.text) != length {
		return &DamagedError{from.textOffset}
	}
	return nil
}

// resize returns a buffer of a length: b if it is large enough, else a new one.
func resize(b []byte, length int64) []byte {
	if int64(cap(b)) < length {
		return make([]byte, length)
	}
	return b[:length]
}
