package spool

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/iotest"
)

// sizes are the sizes around the limits where a Buffer stores its bytes differently.
var sizes = []int{0, 1, minRead, Piece - 1, Piece, Piece + 1, Memory - 1, Memory, Memory + 1, Memory + 3*Piece + 7, 9 << 20}

func random(size int) []byte {
	r := rand.NewChaCha8([32]byte{byte(size), byte(size >> 8)})
	p := make([]byte, size)
	_, _ = r.Read(p)
	return p
}

func TestBufferKeepsWhatWasWritten(t *testing.T) {
	for _, dir := range []Dir{"", Dir(t.TempDir())} {
		for _, size := range sizes {
			for name, fill := range map[string]func(b *Buffer, want []byte) error{
				"read": func(b *Buffer, want []byte) error {
					_, err := b.ReadFrom(iotest.HalfReader(bytes.NewReader(want)))
					return err
				},
				"small pieces": func(b *Buffer, want []byte) error {
					_, err := io.CopyBuffer(struct{ io.Writer }{b}, struct{ io.Reader }{bytes.NewReader(want)}, make([]byte, 1013))
					return err
				},
				"whole": func(b *Buffer, want []byte) error {
					_, err := b.Write(want)
					return err
				},
			} {
				want := random(size)
				for _, expected := range []int64{0, int64(size)} {
					b := dir.New(expected)
					if err := fill(b, want); err != nil {
						t.Fatal(err)
					}
					var out bytes.Buffer
					if _, err := b.WriteTo(&out); err != nil || !bytes.Equal(out.Bytes(), want) {
						t.Errorf("%s, %d bytes in %q: WriteTo wrote others, or %v", name, size, dir, err)
					}
					near := size > Memory-minRead && size <= Memory // a read needs room
					if inFile := dir != "" && canMap && size > Memory; b.Len() != int64(size) || b.InFile() != inFile && !near {
						t.Errorf("%s, %d bytes in %q: Len is %d, InFile %t", name, size, dir, b.Len(), b.InFile())
					}
					got, err := b.Bytes()
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("%s, %d bytes in %q: Bytes gave others, or %v", name, size, dir, err)
					}
					Release(got)
					out.Reset()
					if _, err := WriteAll(&out, got); err != nil || !bytes.Equal(out.Bytes(), want) {
						t.Errorf("%s, %d bytes in %q: others after Release, or %v", name, size, dir, err)
					}
					if err := b.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
		if dir != "" {
			if left, err := os.ReadDir(string(dir)); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		}
	}
}

// A folder where no file can be created is not an error.
func TestBufferWithoutFolder(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere")
	want := random(Memory + 5)
	b := Dir("/nowhere").New(0)
	if _, err := b.Write(want); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Bytes(); err != nil || !bytes.Equal(got, want) || b.InFile() {
		t.Errorf("%d bytes, InFile %t, %v", len(got), b.InFile(), err)
	}
}

func TestBufferTellsErrorsApart(t *testing.T) {
	cut := errors.New("cut")
	b := Dir(t.TempDir()).New(0)
	_, err := b.ReadFrom(io.MultiReader(bytes.NewReader(random(Memory+5)), iotest.ErrReader(cut)))
	if _, isFile := errors.AsType[*FileError](err); !errors.Is(err, cut) || isFile || b.Len() != Memory+5 {
		t.Errorf("%v behind %d bytes, want that of the reader", err, b.Len())
	}
	if b.InFile() {
		b.file.Close()
		if _, err := b.Write(random(2 * Piece)); err == nil {
			t.Error("no error of a file that takes nothing")
		} else if _, isFile := errors.AsType[*FileError](err); !isFile {
			t.Errorf("%v, want a FileError", err)
		}
	}
}

// An annotation belongs to the place of its bytes, and only in files.
func TestNotesBelongToBytesInFiles(t *testing.T) {
	Annotate(random(10), "heap")
	b := Dir(t.TempDir()).New(0)
	if _, err := b.Write(random(Memory + 5)); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	all, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	Annotate(all[7:9], "seven")
	if got := Annotation(all[7:]); canMap && got != "seven" {
		t.Errorf("at 7 is %v", got)
	}
	if got := Annotation(all[8:]); got != nil {
		t.Errorf("at 8 is %v", got)
	}
}

// A buffer made from bytes in a file is kept in the same folder, and can be released alone.
func TestBuffersOfOneFolderAreReleasedAlone(t *testing.T) {
	for _, dir := range []Dir{"", Dir(t.TempDir())} {
		want := random(Memory + 5)
		first := dir.New(0)
		if _, err := first.Write(want); err != nil {
			t.Fatal(err)
		}
		all, err := first.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		second := NewBeside(all[10:], int64(len(want)))
		if _, err := second.Write(want); err != nil {
			t.Fatal(err)
		}
		if second.dir != dir || second.InFile() != first.InFile() {
			t.Errorf("beside one in %q is one in %q, in a file: %t, %t", dir, second.dir, first.InFile(), second.InFile())
		}
		copied, err := second.Bytes()
		if err != nil || !bytes.Equal(copied, want) {
			t.Errorf("other bytes beside one in %q, or %v", dir, err)
		}
		Annotate(copied, "there")
		Free(copied[1:])
		if there := Annotation(copied) != nil; there != first.InFile() {
			t.Errorf("there once a part was freed: %t", there)
		}
		if Free(copied); Annotation(copied) != nil {
			t.Error("not freed")
		}
		if !bytes.Equal(all, want) {
			t.Error("the first bytes were freed, too")
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestIndexFindsTextAcrossPieces(t *testing.T) {
	p := bytes.Repeat([]byte{'.'}, 2*Piece+100)
	for _, place := range []int{0, 1, Piece - 2, Piece - 1, Piece, Piece + 1, 2*Piece - 1, 2 * Piece, len(p) - 3} {
		for _, sep := range []string{"a", "a:b"} {
			with := bytes.Clone(p)
			copy(with[place:], sep)
			for _, at := range []int{0, place, place + 1, len(p)} {
				want := len(p)
				if i := bytes.Index(with[at:], []byte(sep)); i >= 0 {
					want = at + i
				}
				if got := Index(with, sep, at); got != want {
					t.Errorf("%q at %d, looked for from %d: got %d, want %d", sep, place, at, got, want)
				}
			}
		}
	}
}

// A file that takes no more ends ReadFrom, although there is more to read.
func TestReadFromIntoAFullFile(t *testing.T) {
	if !canMap {
		return
	}
	b := Dir(t.TempDir()).New(Memory + 1)
	b.file.Close()
	src := &endless{}
	_, err := b.ReadFrom(src)
	if src.reads > 2*2*Piece/1000+1 {
		t.Errorf("read %d times", src.reads)
	}
	if _, isFile := errors.AsType[*FileError](err); !isFile {
		t.Errorf("%v, want a FileError", err)
	}
}

// An endless has bytes for ever.
type endless struct{ reads int }

func (e *endless) Read(p []byte) (int, error) {
	e.reads++
	return min(len(p), 1000), nil
}
