package blocks

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// written are the filters of data.
func written(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, bytes.NewReader(data), int64(len(data))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func set(t testing.TB, data, filters []byte, texts ...string) *Set {
	t.Helper()
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	s, err := Read(bytes.NewReader(filters), int64(len(data)), Seek(all))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// words are random text with a random number of different words.
func words(random *rand.Rand, size int) (data []byte) {
	vocabulary := make([]string, 1+random.IntN(4000))
	for i := range vocabulary {
		for range 2 + random.IntN(8) {
			vocabulary[i] += string(rune('a' + random.IntN(26)))
		}
	}
	for len(data) < size {
		data = append(append(data, vocabulary[random.IntN(len(vocabulary))]...), ' ')
	}
	return data[:size]
}

// What stands somewhere is never denied, wherever blocks end; in any case.
func TestWhatIsThereIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		data := words(random, 3*Size+random.IntN(2*Size))
		filters := written(t, data)
		for range 200 {
			from := random.IntN(len(data) - 3)
			if random.IntN(2) == 0 {
				from = max(0, (1+random.IntN(3))*Size-random.IntN(12)) // across two blocks
			}
			to := min(len(data), from+3+random.IntN(600))
			if to-from < 3 {
				continue
			}
			text := bytes.ToUpper(data[from:to])
			if !set(t, data, filters, "0123456789", string(text)).May(int64(from), to-from) {
				t.Fatalf("%q at %d", text, from)
			}
		}
	}
}

// Most of what is not there is denied.
func TestWhatIsNotThereIsDenied(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	data := words(random, 40*Size)
	filters := written(t, data)
	may := 0
	s := set(t, data, filters, "zebrafish#42")
	for at := int64(0); at < int64(len(data)); at += Size {
		if s.May(at, 1) {
			may++
		}
	}
	if may > 2 || len(filters)*10 > len(data) {
		t.Errorf("%d blocks may have it, %d bytes of filters", may, len(filters))
	}
}

func TestWhatIsSpelledOtherwiseMayBeAnything(t *testing.T) {
	for text, may := range map[string]bool{`a\u0062c`: true, `a\\u0062c`: false, `a\\\u0062c`: true, `,"raw64":"YQ=="`: true, `\"raw64\":`: false, `plain`: false} {
		data := []byte(text)
		if got := set(t, data, written(t, data), "zebra").May(0, len(data)); got != may {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// The groups of a block are those that a loop over its bytes finds.
func TestGroups(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		block := make([]byte, random.IntN(40))
		for i := range block {
			block[i] = byte(random.IntN(256))
		}
		var got, want filter
		got.add(block)
		lower := func(b byte) byte {
			if b >= 'A' && b <= 'Z' {
				b += 'a' - 'A'
			}
			return b
		}
		for i := 0; i+3 <= len(block); i++ {
			want.seen[hash(groupOf([]byte{lower(block[i]), lower(block[i+1]), lower(block[i+2])}))] = 1
		}
		if got.seen != want.seen {
			t.Fatalf("%q", block)
		}
	}
}

// Whether anything is spelled otherwise is seen wherever in the block it stands.
func TestSpelledOtherwise(t *testing.T) {
	for _, text := range []string{`\u00e9`, `\\u00e9`, `\\\u00e9`, `\U`, `u\`, `\u`, `"raw64":`, `\"raw64\":`, `"raw64"`} {
		for at := range 40 {
			for behind := range 12 {
				block := []byte(strings.Repeat("x", at) + text + strings.Repeat("y", behind))
				var f filter
				f.add(block)
				want := bytes.Contains(block, []byte(`"raw64":`)) || SpelledByNumber(block)
				if got := f.spelledOtherwise(block); got != want {
					t.Fatalf("%s: %v", block, got)
				}
			}
		}
	}
}

func TestSeek(t *testing.T) {
	for _, c := range []struct {
		texts []string
		told  bool
	}{{nil, false}, {[]string{"ab"}, false}, {[]string{"abc"}, true}, {[]string{"abc", "x"}, false}, {[]string{"ä/ö"}, false}, {[]string{"a/bcd"}, true}} {
		var all [][]byte
		for _, text := range c.texts {
			all = append(all, []byte(text))
		}
		if told := Seek(all) != nil; told != c.told {
			t.Errorf("%q: %v", c.texts, told)
		}
	}
	data := []byte(`xa\/bcd`)
	if !set(t, data, written(t, data), "xa/bcd").May(0, len(data)) {
		t.Error("a slash may have a backslash before it")
	}
}

func TestDamagedFilters(t *testing.T) {
	data := words(rand.New(rand.NewPCG(7, 8)), 3*Size)
	filters, sought := written(t, data), Seek([][]byte{[]byte("needle")})
	for _, bad := range [][]byte{nil, filters[:len(filters)-1], {leastBits - 1}, {mostBits + 1}, {255}} {
		if _, err := Read(bytes.NewReader(bad), int64(len(data)), sought); err == nil {
			t.Errorf("%d bytes: no error", len(bad))
		}
	}
	var none *Set
	if s := set(t, data, filters, "needle"); !none.May(0, 1) || !s.May(int64(len(data))-1, 2) || !s.May(-1, 1) {
		t.Error("what is not known may be there")
	}
	if err := Write(io.Discard, bytes.NewReader(data), int64(len(data))+1); err == nil {
		t.Error("the file is shorter")
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{1 << 20, 8 << 20} {
		data := words(rand.New(rand.NewPCG(1, 2)), size)
		b.Run(fmt.Sprint(size>>20, " MiB"), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := Write(io.Discard, bytes.NewReader(data), int64(size)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
