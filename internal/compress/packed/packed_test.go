package packed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// sample returns a text of lines; some cannot be compressed.
func sample(size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for n := 0; len(b) < size; n++ {
		b = fmt.Appendf(b, `{"seq":%d,"kind":"body","raw":"%x"}`+"\n", n, random.Uint64())
		if n%100 == 0 {
			for range 3000 {
				b = append(b, byte(random.Uint32()))
			}
		}
	}
	return b[:size]
}

func written(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opened(t testing.TB, file []byte) *Reader {
	t.Helper()
	r, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// all reads the text from the beginning to the error after it.
func all(r *Reader) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(r, 0, 1<<40))
}

// Each read of a compressed text returns the text at the offset, and io.EOF at the end.
func TestReadAtReturnsTextOfOffset(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{0, 1, frameSize - 1, frameSize, frameSize + 1, 5*frameSize + 12345} {
		text := sample(size)
		r, plain := opened(t, written(t, text)), bytes.NewReader(text)
		if r.Size() != int64(size) {
			t.Fatalf("size %d, want %d", r.Size(), size)
		}
		got, err := all(r)
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%d bytes: %v", size, err)
		}
		for range 60 {
			at, length := random.Int64N(int64(size+10)), random.IntN(3*frameSize)
			want, have := make([]byte, length), make([]byte, length)
			n, wantErr := plain.ReadAt(want, at)
			m, haveErr := r.ReadAt(have, at)
			if n != m || length > 0 && wantErr != haveErr || !bytes.Equal(want[:n], have[:m]) {
				t.Fatalf("%d bytes at %d of %d: %d %v, want %d %v", length, at, size, m, haveErr, n, wantErr)
			}
		}
	}
	if _, err := opened(t, written(t, sample(10))).ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("an offset below 0 gives no error")
	}
}

// Several goroutines look at the same time.
func TestConcurrentReadAt(t *testing.T) {
	text := sample(9 * frameSize)
	r := opened(t, written(t, text))
	errs := make(chan error, 8)
	for g := range cap(errs) {
		go func() {
			random, part := rand.New(rand.NewPCG(uint64(g), 0)), make([]byte, 1000)
			for range 200 {
				at := random.IntN(len(text) - len(part))
				if _, err := r.ReadAt(part, int64(at)); err != nil || !bytes.Equal(part, text[at:at+len(part)]) {
					errs <- fmt.Errorf("at %d: %w", at, err)
					return
				}
			}
			errs <- nil
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// A file that is cut anywhere is read up to the damage, and the error reports it.
func TestCutFileIsReadUpToTheCut(t *testing.T) {
	text := sample(3*frameSize + 100)
	file := written(t, text)
	ends := opened(t, file).frames
	for cut := 0; cut < len(file); cut += 1 + cut/50 {
		r, err := Open(bytes.NewReader(file[:cut]), int64(cut))
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		got, err := all(r)
		whole := int64(0)
		atEnd := cut == 0
		for _, end := range ends {
			if end.fileOffset <= int64(cut) {
				whole, atEnd = end.textOffset, atEnd || end.fileOffset == int64(cut)
			}
		}
		var damage *DamagedError
		if !bytes.Equal(got, text[:whole]) || errors.As(err, &damage) == atEnd || damage != nil && damage.Text != whole {
			t.Fatalf("cut at %d: %d bytes, want %d: %v", cut, len(got), whole, err)
		}
	}
}

// In a file with a wrong bit nothing wrong is read.
func TestFlippedBitsAreDetected(t *testing.T) {
	text := sample(2*frameSize + 100)
	file := written(t, text)
	damaged := 0
	for i := 0; i < len(file); i += 1 + len(file)/600 {
		bad := bytes.Clone(file)
		bad[i] ^= 1 << (i % 8)
		r, err := Open(bytes.NewReader(bad), int64(len(bad)))
		if err != nil {
			damaged++
			continue
		}
		got, err := all(r)
		if err != nil {
			damaged++
		}
		if !bytes.HasPrefix(text, got) || err == nil && len(got) != len(text) {
			t.Fatalf("bit of byte %d: %d bytes: %v", i, len(got), err)
		}
	}
	if damaged < 500 {
		t.Errorf("%d were noticed", damaged)
	}
}

// table returns frames and a table with these entries after them.
func table(frames []byte, kind byte, entries ...uint32) []byte {
	var b []byte
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint32(b, e)
	}
	head := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, tableMagic), uint32(len(b)+footerSize))
	each := 8
	if kind&withSums != 0 {
		each = 12
	}
	end := append(binary.LittleEndian.AppendUint32(nil, uint32(len(b)/each)), kind)
	return slices.Concat(frames, head, b, binary.LittleEndian.AppendUint32(end, footerMagic))
}

func frame(t testing.TB, text []byte) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll(text, nil)
}

// A forged table gives an error, or is not used.
func TestForgedTablesAreRefused(t *testing.T) {
	text := bytes.Repeat([]byte("abcdefgh"), 1000)
	one, bomb := frame(t, text), frame(t, make([]byte, 1<<28))
	length, bombs := uint32(len(one)), uint32(len(bomb))
	var damage *DamagedError
	for name, c := range map[string]struct {
		file []byte
		read int
		err  error // nil expects a *DamagedError
	}{
		"true":                     {table(one, 0, length, 8000), 8000, io.EOF},
		"with checksums":           {table(one, withSums, length, 8000, 1), 8000, io.EOF},
		"less text than there is":  {table(one, 0, length, 7999), 0, nil},
		"more text than there is":  {table(one, 0, length, 8001), 0, nil},
		"frames longer":            {table(one, 0, length+1, 8000), 8000, io.EOF},
		"frames shorter":           {table(one, 0, length-1, 8000), 8000, io.EOF},
		"more frames":              {table(one, 0, length, 8000, length, 8000), 8000, io.EOF},
		"no frames":                {table(one, 0), 8000, io.EOF},
		"a large frame":            {table(one, 0, length, maxFrameText+1), 8000, io.EOF},
		"reserved bits":            {table(one, 4, length, 8000), 8000, io.EOF},
		"the same bytes twice":     {table(slices.Concat(one, one), 0, length, 8000, length, 8000), 16000, io.EOF},
		"a frame of 256 MiB":       {table(bomb, 0, bombs, 1<<28), 0, ErrTooLarge},
		"that seems to have 1 MiB": {table(bomb[:maxFrameOverhead], 0, maxFrameOverhead, 1<<20), 0, nil},
		"text":                     {[]byte("{\"mcpc-traffic\":1}\n"), 0, ErrNone},
	} {
		r, err := Open(bytes.NewReader(c.file), int64(len(c.file)))
		var got []byte
		if err == nil {
			if got, err = all(r); err == nil {
				err = io.EOF
			}
		}
		if len(got) != c.read || c.err != nil && !errors.Is(err, c.err) || c.err == nil && !errors.As(err, &damage) {
			t.Errorf("%s: %d bytes: %v", name, len(got), err)
		}
	}
	many := bytes.Repeat(frame(t, []byte("x")), maxFrames+1)
	if _, err := Open(bytes.NewReader(many), int64(len(many))); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// A file that was not made by Write is read where its frames are small.
func TestFilesOfOtherWritersAreRead(t *testing.T) {
	text := sample(frameSize)
	streamed := func(size int) []byte {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(bytes.Repeat(text, size))
		w.Close()
		return b.Bytes()
	}
	if got, err := all(opened(t, frame(t, text))); err != nil || !bytes.Equal(got, text) {
		t.Error(len(got), err)
	}
	large := streamed(5)
	if _, err := Open(bytes.NewReader(large), int64(len(large))); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// A failing writer or reader ends it.
func TestWriteFails(t *testing.T) {
	broken := errors.New("broken")
	if err := Write(io.Discard, io.MultiReader(bytes.NewReader(sample(frameSize)), errReader{broken})); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := Write(errWriter{broken}, bytes.NewReader(sample(10))); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

type errWriter struct{ err error }

func (e errWriter) Write([]byte) (int, error) { return 0, e.err }

// FuzzOpen reads any bytes in bounded memory.
func FuzzOpen(f *testing.F) {
	file := written(f, sample(1000))
	f.Add(file)
	f.Add(file[:len(file)-3])
	f.Add(table(frame(f, []byte("text")), withSums, 17, 4, 0))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		part := make([]byte, 1000)
		for _, at := range []int64{0, r.Size() / 2, r.Size() - 1, r.Size()} {
			if n, err := r.ReadAt(part, at); n < len(part) && err == nil {
				t.Errorf("%d bytes without an error", n)
			}
		}
		room := 0
		for i := range r.slots {
			room += cap(r.slots[i].raw) + cap(r.slots[i].text)
		}
		if room > slots*(2*maxFrameText+maxFrameOverhead) {
			t.Errorf("%d bytes of memory", room)
		}
	})
}
