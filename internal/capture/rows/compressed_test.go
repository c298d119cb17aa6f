package rows

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/compress/packed"
	"mcpc/internal/wire"
)

// compressedFrom compresses files of as few bytes.
func compressedFrom(t *testing.T, least int64) {
	was := capture.CompressFrom
	t.Cleanup(func() { capture.CompressFrom = was })
	capture.CompressFrom = least
}

// compressed is a file with the lines in the place of a plain one.
func compressed(t *testing.T, path string, lines []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := packed.Write(&b, bytes.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	os.Remove(path)
	path += packed.Extension
	put(t, path, b.Bytes())
	_ = os.Chtimes(path, longAgo, longAgo)
	return path
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A compressed capture gives what the plain one gives, by its new name and by the old one, with an
// index that was written before or after.
func TestCompressedCaptureIsTheSame(t *testing.T) {
	smallPages(t, 4, 1)
	for name, lines := range samples(t) {
		path := filepath.Join(t.TempDir(), "000001.jsonl")
		put(t, path, lines)
		_ = os.Chtimes(path, longAgo, longAgo)
		plain, err := Open(path)
		if err != nil {
			t.Fatal(name, err)
		}
		want := allOf(t, plain)
		plain.Close()
		before := opened(t, path, "", false)
		packedPath := compressed(t, path, lines)
		for what, c := range map[string]*Capture{
			"opened before": before, "by its old name": opened(t, path, "", true), "by its new name": opened(t, packedPath, "", true),
			"as a file of the user's": opened(t, packedPath, filepath.Join(t.TempDir(), "indexes"), false),
		} {
			if diff := cmp.Diff(want, allOf(t, c)); diff != "" {
				t.Errorf("%s, %s (-plain +compressed): %s", name, what, diff)
			}
			c.Close()
		}
	}
}

// A run that has ended is compressed, with its time and for its owner only; another one is not.
func TestOnlyEndedRunsAreCompressed(t *testing.T) {
	compressedFrom(t, 1<<10)
	begin := func() []byte {
		lines := capture.AppendHead(nil, capture.Head{Started: noon, By: capture.ByTap, Run: 1})
		for i := range 20 {
			lines = capture.AppendFrame(lines, wire.Frame{Seq: uint64(i + 1), Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)})
		}
		return lines
	}
	end := capture.AppendEnd(nil, capture.End{Time: noon})
	late := capture.AppendFrame(nil, wire.Frame{Seq: 50, Time: noon, Raw: []byte(`{}`)})
	for name, c := range map[string]struct {
		lines []byte
		age   time.Duration
		want  string
	}{
		"ended":          {append(begin(), end...), time.Hour, "000001.jsonl.zst"},
		"goes on":        {append(begin(), "{\"next\":2}\n"...), time.Hour, "000001.jsonl.zst"},
		"just now":       {append(begin(), end...), time.Second, "000001.jsonl"},
		"small":          {append(capture.AppendHead(nil, capture.Head{By: capture.ByTap}), end...), time.Hour, "000001.jsonl"},
		"without an end": {begin(), time.Hour, "000001.jsonl"},
		"of a request":   {append(begin(), capture.AppendEnd(nil, capture.End{Time: noon, ID: []byte("3")})...), time.Hour, "000001.jsonl"},
		"late frames":    {append(append(begin(), end...), late...), time.Hour, "000001.jsonl"},
		"cut":            {append(begin(), end[:len(end)-3]...), time.Hour, "000001.jsonl"},
	} {
		ring := capture.NewRing(t.TempDir())
		put(t, ring.Path(1), c.lines)
		_ = os.Chtimes(ring.Path(1), longAgo, longAgo)
		runs, err := ring.Runs()
		if err != nil {
			t.Fatal(err)
		}
		ring.CompressEnded(runs, longAgo.Add(c.age))
		if got := namesIn(t, ring.Dir()); strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
		run, err := ring.Find(1)
		if err != nil || filepath.Base(run.Path) != c.want || !run.Modified.Equal(longAgo.Truncate(0)) {
			t.Errorf("%s: %+v, %v", name, run, err)
		}
		info, err := os.Lstat(run.Path)
		stat, failed := Stat(ring.Path(1))
		if err != nil || failed != nil || info.Mode().Perm() != 0o600 || run.Bytes != info.Size() || stat.Size() != int64(len(c.lines)) {
			t.Errorf("%s: %v %v %v", name, err, failed, info)
		}
		if numbers, err := ring.Numbers(); err != nil || len(numbers) != 1 {
			t.Errorf("%s: %v %v", name, numbers, err)
		}
	}
}

// ringOf is a ring whose runs have ended, and their lines.
func ringOf(t *testing.T, runs int) (*capture.Ring, []byte) {
	t.Helper()
	compressedFrom(t, 1)
	ring, lines := capture.NewRing(t.TempDir()), capture.AppendHead(nil, capture.Head{Started: noon, By: capture.ByTap})
	lines = capture.AppendFrame(lines, wire.Frame{Seq: 1, Time: noon, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
	lines = capture.AppendEnd(lines, capture.End{Time: noon})
	for n := 1; n <= runs; n++ {
		put(t, ring.Path(n), lines)
		_ = os.Chtimes(ring.Path(n), longAgo, longAgo)
	}
	return ring, lines
}

func compressAll(t *testing.T, ring *capture.Ring) {
	t.Helper()
	runs, err := ring.Runs()
	if err != nil {
		t.Fatal(err)
	}
	ring.CompressEnded(runs, longAgo.Add(time.Hour))
}

// compressRun compresses a run, and reports whether it is compressed.
func compressRun(ring *capture.Ring, n int) bool {
	ring.CompressEnded([]capture.Run{{Number: n, Path: ring.Path(n), Bytes: 1 << 40}}, time.Now().Add(time.Hour))
	_, err := os.Lstat(ring.Path(n))
	return os.IsNotExist(err)
}

// If a command was killed before it deleted the plain run, the plain run counts, and the next
// command compresses it again.
func TestPlainRunCountsBesideCompressedOne(t *testing.T) {
	ring, _ := ringOf(t, 1)
	put(t, ring.Path(1)+packed.Extension, []byte("another"))
	if runs, err := ring.Runs(); err != nil || len(runs) != 1 || runs[0].Path != ring.Path(1) {
		t.Error(runs, err)
	}
	if numbers, err := ring.Numbers(); err != nil || len(numbers) != 1 {
		t.Error(numbers, err)
	}
	compressAll(t, ring)
	if c, err := Open(ring.Path(1)); err != nil || c.Count() != 1 || strings.Join(namesIn(t, ring.Dir()), " ") != "000001.jsonl.zst" {
		t.Error(err, namesIn(t, ring.Dir()))
	}
	// A run does not get a number whose run is compressed, even if the counter is lost.
	for range 2 {
		w, n, err := ring.Create()
		if err != nil || n == 1 {
			t.Error(n, err)
		}
		w.Close()
		put(t, filepath.Join(ring.Dir(), "last"), []byte("000000000000\n"))
	}
}

// Runs are deleted with what there is of them, and so is what a killed command left.
func TestCompressedRunsAreDeleted(t *testing.T) {
	ring, lines := ringOf(t, 3)
	compressAll(t, ring)
	put(t, ring.Path(1), lines)
	_ = os.Chtimes(ring.Path(1), longAgo, longAgo)
	put(t, filepath.Join(ring.Dir(), "000002.idx"), nil)
	put(t, filepath.Join(ring.Dir(), "000003.idx"), nil)
	for _, killed := range []string{"000003.jsonl.zst-123", "000009.jsonl.zst-456"} {
		put(t, filepath.Join(ring.Dir(), killed), nil)
		_ = os.Chtimes(filepath.Join(ring.Dir(), killed), longAgo, longAgo)
	}
	put(t, filepath.Join(ring.Dir(), "000003.jsonl.zst-789"), nil) // another command is at it
	if removed, err := ring.Prune(capture.Limits{Runs: 1}, longAgo.Add(time.Hour)); err != nil || len(removed) != 2 {
		t.Error(removed, err)
	}
	if diff := cmp.Diff([]string{"000003.idx", "000003.jsonl.zst", "000003.jsonl.zst-789"}, namesIn(t, ring.Dir())); diff != "" {
		t.Error(diff)
	}
	// The limit is of what is on the disk.
	put(t, ring.Path(2), lines)
	put(t, ring.Path(3), nil)
	_ = os.Chtimes(ring.Path(2), longAgo, longAgo)
	put(t, filepath.Join(ring.Dir(), "000003.idx"), lines)
	if removed, err := ring.Prune(capture.Limits{Bytes: int64(2*len(lines)) - 1}, longAgo.Add(time.Hour)); err != nil || len(removed) != 1 || removed[0].Number != 2 {
		t.Error(removed, err)
	}
}

// Several commands compress the same runs while others read them.
func TestCompressAtTheSameTime(t *testing.T) {
	const runs = 8
	ring, _ := ringOf(t, runs)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { compressAll(t, ring) })
		all.Go(func() {
			for n := range runs {
				if c, err := OpenIndexed(ring.Path(n+1), ""); err != nil || c.Count() != 1 {
					t.Error(n+1, err)
				}
			}
			if found, err := ring.Runs(); err != nil || len(found) != runs {
				t.Error(len(found), err)
			}
		})
	}
	all.Wait()
	compressAll(t, ring)
	for i, name := range namesIn(t, ring.Dir()) {
		if name != fmt.Sprintf("%06d.jsonl.zst", i+1) {
			t.Error(name)
		}
	}
}

// A recorder compresses the parts that are full while it records.
func TestFullPartsAreCompressed(t *testing.T) {
	compressedFrom(t, 1)
	ring := capture.NewRing(t.TempDir())
	r := capture.NewRecorder(capture.Recording{Open: ring.Create, Rotation: capture.Rotation{Ring: ring, Bytes: 4 << 10, Files: 1000, Carry: Carry}, Head: capture.Head{Started: noon, By: capture.ByTap}})
	deadline, sent := time.Now().Add(time.Minute), 0
	for there := false; !there; sent++ {
		r.Tap(wire.Frame{Seq: uint64(sent + 1), Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"n%d"}`, sent)})
		r.Flush()
		found, _ := filepath.Glob(filepath.Join(ring.Dir(), "*.zst"))
		if there = len(found) > 0; time.Now().After(deadline) {
			t.Fatal("nothing was compressed in a minute")
		}
	}
	r.End(capture.End{Time: noon})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(ring.Dir(), "*.zst-*"))
	if len(left) > 0 {
		t.Error(left)
	}
	seen := map[string]bool{} // parts repeat frames
	runs, err := ring.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		c, err := Open(run.Path)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.EachFrame(func(_ int, f wire.Frame) error { seen[string(f.Raw)] = true; return nil })
		c.Close()
	}
	if len(seen) != sent {
		t.Errorf("%d frames of %d", len(seen), sent)
	}
}

// Parts that are compressed have the exchanges that they had.
func TestCompressedPartsKeepTheirExchanges(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	busy(t, 400, capture.Rotation{Ring: ring, Bytes: 32 << 10, Files: 1000, Carry: Carry})
	numbers := func() (all []string) {
		rows, _ := listed(t, ring)
		for _, row := range rows {
			x, err := row.Exchange()
			all = append(all, fmt.Sprintf("%s %s %s %v", row.Number(), row.ID, asJSON(x), err))
		}
		return all
	}
	want := numbers()
	compressedFrom(t, 1)
	runs, err := ring.Runs()
	if err != nil {
		t.Fatal(err)
	}
	ring.CompressEnded(runs, time.Now().Add(time.Hour))
	if diff := cmp.Diff(want, numbers()); diff != "" {
		t.Error(diff)
	}
	if plain, _ := filepath.Glob(filepath.Join(ring.Dir(), "*.jsonl")); len(plain) > 0 {
		t.Error(plain)
	}
}

// Of a damaged file the lines before the damage are read, with a finding, and no index is made.
func TestDamagedCompressedCapture(t *testing.T) {
	lines := capture.AppendHead(nil, capture.Head{Started: noon, By: capture.ByTap})
	const calls = 20_000
	for i := range calls {
		lines = capture.AppendFrame(lines, wire.Frame{Seq: uint64(i + 1), Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)})
	}
	dir := t.TempDir()
	path := compressed(t, filepath.Join(dir, "000001.jsonl"), lines)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{1, 2, 3, 10} {
		bad := bytes.Clone(whole)
		if bad[len(bad)*(cut-1)/cut] ^= 1; cut%2 == 0 {
			bad = bad[:len(bad)/cut]
		}
		put(t, path, bad)
		_ = os.Chtimes(path, longAgo, longAgo)
		c, err := openIndexed(path, "", 0)
		if err != nil {
			if cut == 10 || cut == 1 { // nothing of the first frame is there
				continue
			}
			t.Fatal(cut, err)
		}
		for range 2 {
			if _, err := c.Refresh(); err != nil {
				t.Fatal(cut, err)
			}
		}
		found := c.Findings()
		if c.Count() < 1000 || c.Count() >= calls || len(found) != 1 || found[0].Rule != "damaged_file" {
			t.Errorf("cut %d: %d exchanges, %+v", cut, c.Count(), found)
		}
		for i, row := range c.Rows() {
			if row.ID != fmt.Sprint(i) {
				t.Fatalf("row %d has the id %s", i, row.ID)
			}
		}
		if got := namesIn(t, dir); len(got) != 1 {
			t.Error(got)
		}
		c.Close()
	}
	put(t, path, lines)
	if _, err := Open(path); err == nil {
		t.Error("a plain file with the name of a compressed one is read")
	}
}

// A run that several processes compress at the same time is there all the time, and in the end compressed.
func TestCompressedByManyAtOnce(t *testing.T) {
	defer func(n int64) { capture.CompressFrom = n }(capture.CompressFrom)
	capture.CompressFrom = 1
	for range 40 {
		ring := capture.NewRing(t.TempDir())
		put(t, ring.Path(1), append(pings("a", 40), capture.AppendEnd(nil, capture.End{Time: noon})...))
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for range 3 {
					compressRun(ring, 1)
					if c, err := Open(ring.Path(1)); err != nil || c.Count() != 40 {
						t.Errorf("while it is compressed: %v", err)
					}
				}
			})
		}
		all.Wait()
		if _, err := os.Stat(ring.Path(1) + packed.Extension); err != nil {
			t.Fatal(err)
		}
	}
}
