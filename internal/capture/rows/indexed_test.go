package rows

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// allOf is all that a capture gives out.
func allOf(t *testing.T, c *Capture) (all []string) {
	t.Helper()
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	add("%+v %+v ended %v offset %d line %d lost %d", c.Heads, c.Findings(), c.HasEnded(), c.progress.offset, c.progress.line, c.Lost())
	for i, h := range c.Heads {
		add("run %d: over %v, ended %v", i, c.closedRuns[i], c.RunEnded(i))
		for n := 1; c.RowIn(h.Mark, n) != nil; n++ {
			add("%s %d is %s", h.Mark, n, c.RowIn(h.Mark, n).Number())
		}
	}
	var whole bytes.Buffer
	keys := map[RowKey]bool{}
	for _, row := range c.Rows() {
		if add("%+v", row.Key()); keys[row.Key()] {
			t.Errorf("%s: two rows have the key %+v", c.Path, row.Key())
		}
		keys[row.Key()] = true
		plain := *row
		plain.capture, plain.conn, plain.Within, plain.SameAs, plain.Guesses, plain.Cancel, plain.Findings = nil, nil, nil, nil, nil, nil, nil
		exchange, err := row.Exchange()
		add("%s: %#v %+v %+v nil %v %s %v %s %s %s %v %s\n%s %v", row.Number(), plain, row.Cancel, row.Findings, row.Findings == nil, row.Remarks(),
			row.Within != nil, row.Client(), row.Server(), row.Session(), row.HasConn(), row.ClientName()+row.ServerName(), asJSON(exchange), err)
		frames, err := row.Frames()
		add("%s %v", asJSON(frames), err)
		if err := c.Copy(&whole, []*Row{row}); err != nil {
			add("copy: %v", err)
		}
	}
	if main := c.Main(); main != nil {
		add("main %s", main.Number())
	}
	if err := c.Copy(&whole, c.Rows()); err != nil {
		add("copy: %v", err)
	}
	add("%s", whole.Bytes())
	carried := Carried{}
	c.ResolveCarried(carried)
	for _, row := range c.Rows() {
		add("%v", row.ListedElsewhere)
	}
	add("%v", carried)
	return all
}

func asJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// mostSampled is how many lines of a file a sample has that is changed.
const mostSampled = 100

// samples are the captures of other tests, and such as no recorder writes.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	files, _ := filepath.Glob(filepath.Join("testdata", "*.jsonl"))
	more, _ := filepath.Glob(filepath.Join("testdata", "sessions", "*.jsonl"))
	ring := capture.NewRing(t.TempDir())
	busy(t, 40, capture.Rotation{Ring: ring, Bytes: 6 << 10, Files: 1000, Carry: Carry})
	parts, _ := filepath.Glob(filepath.Join(ring.Dir(), "*.jsonl"))
	files = append(append(append(files, more...), parts...), record(t, "probe", "real"))
	if len(more) == 0 || len(parts) < 3 {
		t.Fatalf("%d sessions, %d parts", len(more), len(parts))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = raw
		lines := bytes.SplitAfter(raw, []byte("\n"))
		if len(lines) > mostSampled {
			lines = lines[:mostSampled]
		}
		for n := range 3 {
			var some []byte
			for i, line := range lines {
				if i == 0 || random.IntN(6) > 0 {
					some = append(some, line...)
				}
			}
			if n == 0 {
				some = some[:len(some)-1-random.IntN(20)]
			}
			all[fmt.Sprint(path, " without some lines ", n)] = some
		}
	}
	all["held"] = heldAndEdited()
	all["no exchange"] = capture.AppendHead(nil, capture.Head{By: capture.ByTap})
	golden := bytes.SplitAfterN(all[goldenCapture], []byte("\n"), mostSampled+1)
	all["another zone"] = bytes.ReplaceAll(bytes.Join(golden[:mostSampled], nil), []byte(`Z","dir"`), []byte(`+05:30","dir"`))
	return all
}

// heldAndEdited returns a run where a user held a request and edited it.
func heldAndEdited() []byte {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	lines := capture.AppendHead(nil, capture.Head{By: capture.ByTap, Started: at})
	for i, f := range []wire.Frame{
		{Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		{Kind: wire.Held, Held: &wire.HeldFacts{How: "waiting", Kind: "request", ID: "1", Method: "ping"}},
		{Kind: wire.Held, Held: &wire.HeldFacts{How: "edited", Kind: "request", ID: "1", Method: "ping", Milliseconds: 40}},
		{Kind: wire.Body, Dir: wire.Received, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)},
	} {
		f.Seq, f.Time, f.Conn = uint64(i+1), at.Add(time.Duration(i)*25*time.Millisecond), 1
		lines = capture.AppendFrame(lines, f)
	}
	return lines
}

func put(t *testing.T, path string, lines []byte) {
	t.Helper()
	if err := os.WriteFile(path, lines, 0o600); err != nil {
		t.Fatal(err)
	}
}

// opened opens a capture by its index, and makes that before.
func opened(t *testing.T, path, dir string, fromIndex bool) *Capture {
	t.Helper()
	c, err := beginIndexed(path, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if (c.indexHead != nil) != fromIndex {
		t.Errorf("%s: from the index: %v", path, !fromIndex)
	}
	if _, err := c.Refresh(); err != nil {
		t.Fatal(err)
	}
	return c
}

var longAgo = time.Now().Add(-time.Hour)

// smallPages makes pages of few rows, and few pages stay unpacked.
func smallPages(t *testing.T, rows, unpacked int) {
	wasRows, wasUnpacked := pageRows, maxUnpackedPages
	t.Cleanup(func() { pageRows, maxUnpackedPages = wasRows, wasUnpacked })
	pageRows, maxUnpackedPages = rows, unpacked
}

// Rows that were packed while the file was read, and unpacked for their later frame, equal rows
// that were never packed.
func TestPackedRowsAreTheSame(t *testing.T) {
	for name, lines := range samples(t) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		put(t, path, lines)
		smallPages(t, 4<<10, 1)
		plain, err := Open(path)
		if err != nil {
			t.Fatal(name, err)
		}
		want, main := allOf(t, plain), ""
		if row := plain.Main(); row != nil {
			main = row.Number()
		}
		for _, rows := range []int{1, 3} {
			smallPages(t, rows, 1)
			packed, err := Open(path)
			if err != nil {
				t.Fatal(name, err)
			}
			if row := packed.Main(); row != nil && row.Number() != main {
				t.Errorf("%s: main %s, want %s", name, row.Number(), main)
			}
			for i, row := range plain.Rows() {
				if got := packed.Row(i + 1); got.Number() != row.Number() || got.Remarks() != row.Remarks() || got.Method != row.Method {
					t.Errorf("%s: row %d is %s %s", name, i+1, got.Number(), got.Method)
				}
			}
			if diff := cmp.Diff(want, allOf(t, packed)); diff != "" {
				t.Errorf("%s, %d rows in a page (-whole +packed): %s", name, rows, diff)
			}
			packed.Close()
		}
		plain.Close()
	}
}

// The rows of an index equal the rows of the file, with all that is read through them.
func TestIndexHasTheSameRows(t *testing.T) {
	smallPages(t, 4, 1)
	for name, lines := range samples(t) {
		path := filepath.Join(t.TempDir(), "000001.jsonl")
		put(t, path, lines)
		plain, err := Open(path)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := os.Chtimes(path, longAgo, longAgo); err != nil {
			t.Fatal(err)
		}
		want := allOf(t, plain)
		if held := name == "held"; held != (plain.Row(1) != nil && plain.Row(1).Held > 0 && plain.Row(1).Edited) {
			t.Errorf("%s: held: %v", name, !held)
		}
		plain.Close()
		for i, dir := range []string{"", filepath.Join(t.TempDir(), "indexes")} {
			first, second := opened(t, path, dir, false), opened(t, path, dir, true)
			if diff := cmp.Diff(want, allOf(t, first)); diff != "" {
				t.Errorf("%s, while it is written: %s", name, diff)
			}
			if diff := cmp.Diff(want, allOf(t, second)); diff != "" {
				t.Errorf("%s, %d (-file +index): %s", name, i, diff)
			}
			if info, err := os.Stat(first.indexPath); err != nil || info.Mode().Perm() != 0o600 {
				t.Error(err, info)
			}
			first.Close()
			second.Close()
		}
	}
}

// All members of a Row are in an index, or are of no use when its run is over.
func TestIndexHasAllMembersOfRow(t *testing.T) {
	const has = " State Run Index IsMain Target Guesses Within SameAs IsGuess Conn fileIndex By ReplayOf ListedElsewhere" +
		" CancelledEarlier capture conn headIndex lines" +
		" Time Dir IsSeparate Method Name ID Channel Cancel Exit Code Duration TimeToFirst Sent Received LastSent Revision Era Status Notes" +
		" Kinds Orphan Findings Text Hint IsHTTPOnly Unanswered Reported WrongID Resumable Streamed ForeignType Held Waiting Edited Notified "
	for _, of := range []reflect.Type{reflect.TypeFor[Row](), reflect.TypeFor[exchange.State]()} {
		for field := range of.Fields() {
			if !strings.Contains(has, " "+field.Name+" ") {
				t.Errorf("%s of %s has no place in the index", field.Name, of)
			}
		}
	}
}

// A file that continues after its index gives the rows of the whole file, whether a new run follows
// or a run that the index took for ended.
func TestFileThatGrowsAfterItsIndex(t *testing.T) {
	smallPages(t, 4, 1)
	for name, lines := range samples(t) {
		ends := bytes.SplitAfter(lines, []byte("\n"))
		for _, share := range []int{3, 2} {
			path := filepath.Join(t.TempDir(), "000001.jsonl")
			part := bytes.Join(ends[:max(1, len(ends)*(share-1)/share)], nil)
			put(t, path, part)
			_ = os.Chtimes(path, longAgo, longAgo)
			if _, err := Open(path); err != nil || len(part) == len(lines) {
				continue
			}
			opened(t, path, "", false)
			before := opened(t, path, "", true)
			put(t, path, lines)
			plain, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := before.Refresh(); err != nil {
				t.Fatal(err)
			}
			want := allOf(t, plain)
			if diff := cmp.Diff(want, allOf(t, before)); diff != "" {
				t.Errorf("%s (-file +kept open): %s", name, diff)
			}
			if diff := cmp.Diff(want, allOf(t, opened(t, path, "", true))); diff != "" {
				t.Errorf("%s (-file +index): %s", name, diff)
			}
			plain.Close()
		}
	}
}

// An index of another file, or an index that is damaged anywhere, is ignored.
func TestDamagedIndexesAreIgnored(t *testing.T) {
	dir := t.TempDir()
	path, index := filepath.Join(dir, "000001.jsonl"), filepath.Join(dir, "000001.idx")
	lines, err := os.ReadFile(goldenCapture)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, lines)
	_ = os.Chtimes(path, longAgo, longAgo)
	made := opened(t, path, "", false)
	good, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	inPages := map[string]bool{} // which are looked at when they are needed
	plain, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	want := rowsOf(t, plain)
	damaged := map[string][]byte{"empty": {}, "text": []byte("no index"), "cut": good[:len(good)-1], "longer": append(bytes.Clone(good), 0)}
	for i := 0; i < len(good); i += 1 + i/10 {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		name := fmt.Sprint("bit of byte ", i)
		damaged[name] = bad
		inPages[name] = int64(i) >= indexHeadSize && int64(i) < indexHeadSize+made.indexHead.Pages
	}
	for name, bad := range damaged {
		put(t, index, bad)
		c, err := beginIndexed(path, "", 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		c.indexPath = index
		info, _ := os.Stat(path)
		if c.readIndex(info) && !inPages[name] {
			t.Errorf("%s: it is used", name)
		}
		if _, err := c.Refresh(); err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(want, rowsOf(t, c)); diff != "" {
			t.Error(name, diff)
		}
		if _, err := os.Stat(index); inPages[name] != os.IsNotExist(err) {
			t.Error(name, "was removed:", err)
		}
		c.Close()
	}
	put(t, index, good)
	opened(t, path, "", true)
	for at, later := range map[int]time.Duration{0: 0, len(lines) / 2: time.Second} {
		other := append(bytes.Clone(lines[:at]), bytes.Replace(lines[at:], []byte(`"seq":2`), []byte(`"seq":3`), 1)...)
		put(t, index, good)
		put(t, path, other)
		_ = os.Chtimes(path, longAgo, longAgo.Add(later))
		opened(t, path, "", false)
	}
}

// A value that is hidden now is not written to an index that others read, and hidden in rows from
// an index.
func TestIndexAndSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "000001.jsonl")
	lines := capture.AppendFrame(capture.AppendHead(nil, capture.Head{Started: noon, By: capture.ByTap, Run: 1}),
		wire.Frame{Seq: 1, Time: noon, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Acme-Corporation"}}`)})
	put(t, path, lines)
	_ = os.Chtimes(path, longAgo, longAgo)
	var secrets redact.Secrets
	secrets.Learn("Acme-Corporation")
	c, err := beginIndexed(path, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		if _, more, err = c.ReadOn(1); err != nil {
			t.Fatal(err)
		}
		c.Hide(&secrets)
	}
	c.Close()
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.idx*")); len(left) > 0 {
		t.Error("what was hidden was written", left)
	}
	opened(t, path, "", false)
	again := opened(t, path, "", true)
	again.Hide(&secrets)
	if name := again.Rows()[0].Name; strings.Contains(name, "Acme") {
		t.Error(name)
	}
}

// Read in steps, a capture has the same rows as read at once, and reports each.
func TestReadingInStepsGivesSameRows(t *testing.T) {
	for name, lines := range samples(t) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		put(t, path, lines)
		whole, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Begin(path)
		if err != nil {
			t.Fatal(err)
		}
		told, steps := map[*Row]bool{}, 0
		for more := true; more; steps++ {
			var changed []*Row
			if changed, more, err = c.ReadOn(500); err != nil {
				t.Fatal(err)
			}
			for _, row := range changed {
				told[row] = true
			}
		}
		if len(told) != len(c.Rows()) || len(lines) > 10_000 && steps < 5 {
			t.Errorf("%s: %d of %d rows, %d steps", name, len(told), len(c.Rows()), steps)
		}
		if diff := cmp.Diff(allOf(t, whole), allOf(t, c)); diff != "" {
			t.Errorf("%s (-at once +in steps): %s", name, diff)
		}
		whole.Close()
		c.Close()
	}
	if _, err := Begin(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// An index is no link to a file of the user's, nor is the folder of indexes a link to one.
func TestIndexIsNoLink(t *testing.T) {
	path, theirs := filepath.Join(t.TempDir(), "000001.jsonl"), filepath.Join(t.TempDir(), "theirs")
	put(t, path, capture.AppendHead(nil, capture.Head{By: capture.ByTap}))
	_ = os.Chtimes(path, longAgo, longAgo)
	put(t, theirs, []byte("theirs"))
	link := filepath.Join(filepath.Dir(path), "000001.idx")
	if err := os.Symlink(theirs, link); err != nil {
		t.Skip(err) // Windows needs a right for it
	}
	opened(t, path, "", false)
	opened(t, path, "", false)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced", err)
	}
	folder := filepath.Join(t.TempDir(), "indexes")
	if err := os.Symlink(t.TempDir(), folder); err != nil {
		t.Fatal(err)
	}
	opened(t, path, folder, false)
	opened(t, path, folder, false)
	if raw, _ := os.ReadFile(theirs); string(raw) != "theirs" {
		t.Errorf("%q", raw)
	}
}

// A folder has a bounded number of indexes, the newest.
func TestIndexesAreBounded(t *testing.T) {
	dir, files := filepath.Join(t.TempDir(), "indexes"), t.TempDir()
	var last string
	for i := range maxIndexes + 5 {
		last = filepath.Join(files, fmt.Sprint(i))
		put(t, last, capture.AppendHead(nil, capture.Head{By: capture.ByTap}))
		_ = os.Chtimes(last, longAgo, longAgo)
		opened(t, last, dir, false)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != maxIndexes {
		t.Errorf("%d indexes: %v", len(left), err)
	}
	opened(t, last, dir, true)
}

// The index of a run is deleted with the run, and so is an index without a run.
func TestPruneRemovesIndexes(t *testing.T) {
	ring := capture.NewRing(t.TempDir())
	for n := 1; n <= 2; n++ {
		put(t, ring.Path(n), capture.AppendHead(nil, capture.Head{By: capture.ByTap, Run: n}))
		_ = os.Chtimes(ring.Path(n), longAgo, longAgo)
		opened(t, ring.Path(n), "", false)
	}
	for _, stray := range []string{"000003.idx", "000001.idx-12345"} {
		put(t, filepath.Join(ring.Dir(), stray), nil)
		_ = os.Chtimes(filepath.Join(ring.Dir(), stray), longAgo, longAgo)
	}
	if removed, err := ring.Prune(capture.Limits{Runs: 1}, longAgo.Add(time.Hour)); err != nil || len(removed) != 1 {
		t.Error(removed, err)
	}
	left, _ := filepath.Glob(filepath.Join(ring.Dir(), "*"))
	for i, path := range left {
		left[i] = filepath.Base(path)
	}
	if diff := cmp.Diff([]string{"000002.idx", "000002.jsonl"}, left); diff != "" {
		t.Error(diff)
	}
}

// FuzzIndex reads any bytes as an index, and as a page of its rows. With the right checksum they
// may tell wrong rows, and nothing worse.
func FuzzIndex(f *testing.F) {
	lines, err := os.ReadFile(filepath.Join("testdata", "format.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.TempDir(), "000001.jsonl")
	if err := os.WriteFile(path, lines, 0o600); err != nil {
		f.Fatal(err)
	}
	_ = os.Chtimes(path, longAgo, longAgo)
	index := indexPath(path, "")
	c, err := openIndexed(path, "", 0)
	if err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(index)
	if err != nil {
		f.Fatal(err)
	}
	head, behind := c.indexHead, good[indexHeadSize:]
	f.Add(behind[head.Pages:], behind[:head.Pages])
	info, err := os.Stat(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, contents, pages []byte) {
		h := *head
		h.Contents, h.Pages = int64(len(contents)), int64(len(pages))
		h.ContentsSum = h.sumContents(contents)
		var whole bytes.Buffer
		_ = binary.Write(&whole, binary.LittleEndian, h)
		put(t, index, slices.Concat(whole.Bytes(), pages, contents))
		c := newCapture(path)
		c.indexPath = index
		defer c.Close()
		c.readIndex(info)
		if len(c.pages) > 0 {
			c.pages[0].packed = pages
		}
		if _, err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
		for _, row := range c.Rows() {
			_ = row.Number() + row.Remarks() + row.Client()
			_, _ = row.Exchange()
			_ = c.Copy(io.Discard, []*Row{row})
			_ = row.Head()
		}
		c.Main()
		c.ResolveCarried(Carried{})
		_ = c.Findings()
	})
}

// Runs that ended are finished, so that a file of many runs takes little memory, and a late line of
// such a run counts as before.
func TestLateLineOfAFinishedRun(t *testing.T) {
	var lines []byte
	run := func(name string, calls int) (late []byte) {
		lines = capture.AppendHead(lines, capture.Head{Started: noon, Mark: name, By: capture.ByProxy})
		for i := range calls {
			for n, raw := range []string{`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, `{"jsonrpc":"2.0","id":%d,"result":{}}`} {
				f := wire.Frame{Seq: uint64(2*i + n + 1), Time: noon, Dir: wire.Direction(n), Raw: fmt.Appendf(nil, raw, i)}
				if late = capture.AddMark(capture.AppendFrame(nil, f), name); i < calls-1 || n == 0 {
					lines = append(lines, late...)
				}
			}
		}
		lines = append(lines, capture.AddMark(capture.AppendEnd(nil, capture.End{Time: noon}), name)...)
		return late
	}
	defer func(rows int) { maxEndedRows = rows }(maxEndedRows)
	maxEndedRows = 500
	late := run("aaaaaaaa", 3)
	for i := range 3 {
		run(fmt.Sprintf("bbbbbbb%d", i), maxEndedRows/2)
	}
	path := filepath.Join(t.TempDir(), "x.jsonl")
	put(t, path, lines)
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !c.makersByMark["aaaaaaaa"].isFrozen || c.makersByMark["bbbbbbb2"].isFrozen || c.Row(3).Received > 0 || c.RowIn("aaaaaaaa", 3).Index != 3 {
		t.Errorf("%+v", c.Row(3))
	}
	put(t, path, append(lines, late...))
	if c, err = Open(path); err != nil || c.Row(3).Received == 0 || c.Count() != 3+3*maxEndedRows/2 {
		t.Errorf("%v, %d rows, %+v", err, c.Count(), c.Row(3))
	}
}

// A capture that is read again, because a run of its index continues, keeps the rows that it gave: between two steps
// each is as it was, and then as in the whole file.
func TestReadingAgainKeepsTheRows(t *testing.T) {
	smallPages(t, 4, 1)
	again := 0
	for name, lines := range samples(t) {
		ends := bytes.SplitAfter(lines, []byte("\n"))
		path := filepath.Join(t.TempDir(), "000001.jsonl")
		part := bytes.Join(ends[:max(1, len(ends)/2)], nil)
		put(t, path, part)
		_ = os.Chtimes(path, longAgo, longAgo)
		if _, err := Open(path); err != nil || len(part) == len(lines) {
			continue
		}
		opened(t, path, "", false)
		c := opened(t, path, "", true)
		rows := slices.Clone(c.Rows())
		keys := keysOf(c)
		put(t, path, lines)
		step := max(300, len(lines)/40)
		for more := true; more; {
			var err error
			if _, more, err = c.ReadOn(step); err != nil {
				t.Fatal(err)
			}
			if c.rereading != nil {
				again++
			}
			for i, row := range rows {
				if row != c.Row(i+1) || row.Key() != keys[i] {
					t.Fatalf("%s: row %d, %+v, is another one: %+v", name, i+1, keys[i], row.Key())
				}
				if _, err := row.Frames(); err != nil || row.Head().By != row.By {
					t.Fatalf("%s: row %d: %v, %+v", name, i+1, err, row.Head())
				}
			}
		}
		whole, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(allOf(t, whole), allOf(t, c)); diff != "" {
			t.Errorf("%s (-whole +read again): %s", name, diff)
		}
		whole.Close()
		c.Close()
	}
	if again < 5 {
		t.Errorf("%d steps of reading again", again)
	}
}

func TestLostFramesAreCountedWithAndWithoutIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lost.jsonl")
	lines := capture.AppendHead(nil, capture.Head{Started: noon, By: capture.ByTap})
	lines = append(lines, "{\"lost\":3}\n{\"lost\":4}\n"...)
	put(t, path, capture.AppendEnd(lines, capture.End{Time: noon}))
	dir := t.TempDir()
	for _, fromIndex := range []bool{false, true} {
		if c := opened(t, path, dir, fromIndex); c.Lost() != 7 {
			t.Errorf("from the index %v: %d frames are lost, want 7", fromIndex, c.Lost())
		}
	}
}
