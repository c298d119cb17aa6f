package traffic

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/exchange"
	"mcpc/internal/live"
	"mcpc/internal/wire"
)

// Over random schedules of record, index, rotate, prune, compress, delete, replace and reopen, with several recorders
// and views, every reader has the exchanges of the request frames that are in the files: each once, none that is not
// there, and all readers the same of each. MCPC_SCHEDULES is how many schedules are tried, MCPC_SCHEDULE the seed of
// the first, or of the only one.
func TestReadersAgreeUnderRandomSchedules(t *testing.T) {
	// A part of a recording that rotates is smaller than what is compressed: its recorder compresses on the side.
	before := rows.SetSizes(rows.Sizes{IndexFrom: 1500, CompressFrom: 5 << 10, PageRows: 4})
	defer rows.SetSizes(before)
	from, count := uint64(0), uint64(12)
	if n, err := strconv.ParseUint(os.Getenv("MCPC_SCHEDULE"), 10, 32); err == nil {
		from, count = n, 1
	}
	if n, err := strconv.ParseUint(os.Getenv("MCPC_SCHEDULES"), 10, 32); err == nil {
		count = n
	}
	for seed := from; seed < from+count; seed++ {
		t.Run(fmt.Sprintf("schedule %d", seed), func(t *testing.T) { runSchedule(t, seed) })
	}
}

func runSchedule(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	defer w.close()
	w.begin()
	for range 30 {
		w.step()
		if w.random.IntN(2) == 0 {
			w.check()
		}
		if t.Failed() {
			t.Fatalf("schedule %d (MCPC_SCHEDULE=%d):\n%s", seed, seed, strings.Join(w.done, "\n"))
		}
	}
	w.check()
	if t.Failed() {
		t.Fatalf("schedule %d (MCPC_SCHEDULE=%d):\n%s", seed, seed, strings.Join(w.done, "\n"))
	}
}

// A world has recordings in a ring, and in one file that a user named, and all who write and read them.
type world struct {
	t      *testing.T
	random *rand.Rand
	f      *cmdutil.Factory
	ring   *capture.Ring
	file   string
	clock  time.Time
	ids    int
	done   []string

	recorders []*schedRecorder
	readers   []*sideReaders
	// late are exchanges that a follower may have printed before they ended.
	late map[string]bool
}

// A schedRecorder records into the ring, or into the named file.
type schedRecorder struct {
	*capture.Recorder
	inFile bool
	by     string
	seq    uint64
	open   []schedCall
	calls  int
}

type schedCall struct {
	conn int
	id   string
}

// sideReaders are all that read the ring, or the file if path is set.
type sideReaders struct {
	path   string
	follow *follower
	// ended and open are how often a follower printed an exchange.
	ended, open map[string]int
	views       []*schedView
}

type schedView struct {
	*live.Store
	most int
}

func newWorld(t *testing.T, seed uint64) *world {
	dir := t.TempDir()
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), f: cmdutil.New(nil, nil, nil), late: map[string]bool{},
		file: filepath.Join(dir, "named.jsonl"), clock: time.Now().Add(-48 * time.Hour).Truncate(time.Second).UTC(),
	}
	w.f.State = filepath.Join(dir, "state")
	begin := time.Now().Add(24 * time.Hour)
	var calls atomic.Int64 // the clock advances at each look; views look from their own goroutines
	w.f.Now = func() time.Time { return begin.Add(time.Duration(calls.Add(1)) * 3 * time.Second) }
	ring, err := w.f.Env.Ring()
	if err != nil {
		t.Fatal(err)
	}
	w.ring = ring
	return w
}

func (w *world) close() {
	for _, r := range w.recorders {
		_ = r.Close()
	}
	for _, side := range w.readers {
		side.close()
	}
}

func (s *sideReaders) close() {
	for _, v := range s.views {
		v.Close()
	}
	if s.follow != nil {
		s.follow.tail.Close()
	}
}

func (w *world) note(format string, args ...any) {
	w.done = append(w.done, fmt.Sprintf(format, args...))
}

// begin begins the first recorders, and the readers.
func (w *world) begin() {
	w.newRecorder(false)
	w.newRecorder(true)
	for _, path := range []string{"", w.file} {
		side := &sideReaders{path: path}
		w.readers = append(w.readers, side)
		w.reopen(side)
	}
}

// reopen begins the follower and the views of a side.
func (w *world) reopen(side *sideReaders) {
	side.close()
	*side = sideReaders{path: side.path, ended: map[string]int{}, open: map[string]int{}}
	side.follow = newFollower(w.f, logOptions{file: side.path}, func(*rows.Row) bool { return true })
	all, out := side.follow.openAll(context.Background())
	if !out.OK() {
		w.t.Fatalf("follow %q: %+v", side.path, out)
	}
	w.printed(side, all, w.want(side.path))
	for _, most := range []int{0, 5 + w.random.IntN(20)} {
		if most > 0 && side.path != "" {
			continue
		}
		s, err := live.NewStepped(live.Options{
			Path: side.path, Ring: w.ring, MaxRows: most, Now: w.f.Now, Indexes: w.ring.Indexes(),
			Open: func(path string) (*rows.Capture, error) { return recorded.OpenIndexed(w.f, path) },
		})
		if err != nil {
			w.t.Fatalf("view of %q: %v", side.path, err)
		}
		side.views = append(side.views, &schedView{s, most})
	}
}

func (w *world) newRecorder(inFile bool) {
	by := []string{capture.ByTap, capture.ByProxy, capture.ByCommand}[w.random.IntN(3)]
	r := &schedRecorder{inFile: inFile, by: by}
	rec := capture.Recording{Open: w.ring.Create, Head: capture.Head{Mcpc: "0", Started: w.clock, Target: "t", By: by}}
	if inFile {
		rec.Open = capture.File(w.file)
		rec.Head.Mark = fmt.Sprintf("mark%04d", len(w.done))
	} else if w.random.IntN(2) == 0 {
		rec.Rotation = capture.Rotation{Ring: w.ring, Bytes: 2000 + int64(w.random.IntN(2000)), Files: 3 + w.random.IntN(4), Carry: rows.Carry}
	}
	r.Recorder = capture.NewRecorder(rec)
	w.recorders = append(w.recorders, r)
	w.record(r, 1+w.random.IntN(4))
	w.note("new recorder %d by %s, in the file %t, rotates at %d: run %d", len(w.recorders), by, inFile, rec.Rotation.Bytes, r.Run())
}

func (w *world) frame(r *schedRecorder, conn int, dir wire.Direction, raw string) {
	r.seq++
	w.clock = w.clock.Add(time.Millisecond)
	r.Tap(wire.Frame{Seq: r.seq, Time: w.clock, Conn: conn, Dir: dir, Raw: []byte(raw)})
}

// record records some calls, answers and cancellations, and writes them.
func (w *world) record(r *schedRecorder, calls int) {
	for range calls {
		conn := 1 + w.random.IntN(3)
		w.ids++
		id := fmt.Sprintf("call-%d", w.ids)
		method := `"tools/call","params":{"name":"tool-%d","arguments":{"text":"about %s, %s"}}`
		if r.calls == 0 {
			method = `"initialize","params":{"protocolVersion":"2025-11-25","name":"tool-%d","x":"about %s, %s"}`
		}
		r.calls++
		w.frame(r, conn, wire.Sent, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","method":`+method+`}`, id, w.ids%5, id, strings.Repeat("x", w.random.IntN(150))))
		r.open = append(r.open, schedCall{conn, id})
		for len(r.open) > 0 && w.random.IntN(5) > 0 {
			i := w.random.IntN(len(r.open))
			c := r.open[i]
			r.open = slices.Delete(r.open, i, i+1)
			w.answer(r, c)
		}
	}
	r.Flush()
}

// answer answers a call in some way.
func (w *world) answer(r *schedRecorder, c schedCall) {
	switch n := w.random.IntN(12); {
	case n == 0:
		w.frame(r, c.conn, wire.Received, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","error":{"code":-32000,"message":"no"}}`, c.id))
	case n < 3:
		w.frame(r, c.conn, wire.Received, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":{"content":[],"isError":true}}`, c.id))
	case n == 3 && w.ids > 1 && !strings.HasSuffix(c.id, "-1"):
		w.frame(r, c.conn, wire.Sent, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%s"}}`, c.id))
	default:
		w.frame(r, c.conn, wire.Received, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":{"content":[]}}`, c.id))
	}
}

// step does one thing to the recordings.
func (w *world) step() {
	switch n := w.random.IntN(24); {
	case n < 9 && len(w.recorders) > 0:
		i := w.random.IntN(len(w.recorders))
		w.record(w.recorders[i], 1+w.random.IntN(6))
		w.note("recorder %d records: run %d", i+1, w.recorders[i].Run())
	case n < 11 && len(w.recorders) < 5:
		w.newRecorder(w.random.IntN(4) == 0)
	case n == 11:
		w.endOne(true)
	case n == 12:
		w.endOne(false)
	case n < 16:
		w.index()
	case n == 16:
		limits := []capture.Limits{{Runs: 1 + w.random.IntN(4)}, {Bytes: 1 << (8 + w.random.IntN(6))}, {Age: time.Minute}}[w.random.IntN(3)]
		removed, err := w.ring.Prune(limits, time.Now().Add(time.Hour))
		if err != nil {
			w.t.Errorf("prune: %v", err)
		}
		w.note("prune to %+v: removed %d", limits, len(removed))
	case n == 17 || n == 18:
		runs := w.runs()
		w.ring.CompressEnded(runs, time.Now().Add(time.Hour))
		w.note("compress")
	case n == 19:
		w.removeByHand()
	case n == 20:
		w.replaceRun()
	case n == 21:
		w.replaceFile()
	case n == 22:
		side := w.readers[w.random.IntN(len(w.readers))]
		w.note("reopen the readers of %q", side.path)
		w.reopen(side)
	default:
		w.check()
	}
}

func (w *world) runs() []capture.Run {
	runs, err := w.ring.Runs()
	if err != nil {
		w.t.Fatal(err)
	}
	return runs
}

// endOne ends a recorder: in order, or as a program that is killed.
func (w *world) endOne(inOrder bool) {
	if len(w.recorders) < 2 {
		return
	}
	i := w.random.IntN(len(w.recorders))
	r := w.recorders[i]
	w.recorders = slices.Delete(w.recorders, i, i+1)
	late := 0
	if inOrder {
		r.End(capture.End{Time: w.clock, Many: true})
		if late = w.random.IntN(3); late > 0 { // what crosses behind the end
			for _, c := range r.open {
				w.late[c.id] = true
			}
			w.record(r, late)
			for _, c := range r.open {
				w.late[c.id] = true
			}
		}
	}
	run := r.Run()
	if err := r.Close(); err != nil {
		w.t.Error(err)
	}
	w.note("recorder %d ends in order %t, with %d late calls: run %d", i+1, inOrder, late, run)
}

// index opens all recordings as another command does, which writes indexes of those that rest.
func (w *world) index() {
	old := time.Now().Add(-time.Hour)
	for _, run := range w.runs() {
		_ = os.Chtimes(run.Path, old, old)
		c, err := rows.OpenIndexed(run.Path, "")
		if err != nil {
			w.t.Fatal(err)
		}
		c.Close()
	}
	_ = os.Chtimes(w.file, old, old)
	if c, err := recorded.OpenIndexed(w.f, w.file); err == nil {
		c.Close()
	}
	w.note("another command indexes")
}

// removeByHand deletes one run, of which the recorder may still run, or all of them.
func (w *world) removeByHand() {
	if runtime.GOOS == "windows" {
		return
	}
	runs := w.runs()
	if len(runs) == 0 {
		return
	}
	if w.random.IntN(3) == 0 {
		w.note("delete the folder")
		if err := os.RemoveAll(w.ring.Dir()); err != nil {
			w.t.Fatal(err)
		}
		for _, r := range w.recorders {
			if !r.inFile {
				r.open = nil
			}
		}
		return
	}
	run := runs[w.random.IntN(len(runs))]
	w.note("delete %s", filepath.Base(run.Path))
	if err := os.Remove(run.Path); err != nil {
		w.t.Fatal(err)
	}
	for _, r := range w.recorders {
		if !r.inFile && r.Run() == run.Number {
			r.open = nil
		}
	}
}

// other returns another recording, whose calls are no others'.
func (w *world) other(run int) []byte {
	b := capture.AppendHead(nil, capture.Head{Mcpc: "0", Started: w.clock, Target: "other", Run: run, By: capture.ByProxy})
	for i := range 1 + w.random.IntN(30) {
		w.ids++
		for dir, raw := range []string{
			`{"jsonrpc":"2.0","id":"call-%d","method":"tools/call","params":{"name":"other","arguments":{"text":"about call-%d, "}}}`,
			`{"jsonrpc":"2.0","id":"call-%d","result":{"content":[]}}`,
		} {
			w.clock = w.clock.Add(time.Millisecond)
			args := []any{w.ids, w.ids}
			b = capture.AppendFrame(b, wire.Frame{Seq: uint64(2*i + dir + 1), Time: w.clock, Conn: 1, Dir: wire.Direction(dir), Raw: fmt.Appendf(nil, raw, args[:2-dir]...)})
		}
	}
	if w.random.IntN(2) == 0 {
		b = capture.AppendEnd(b, capture.End{Time: w.clock})
	}
	return b
}

// replaceRun puts another recording in the place of a run whose recorder has ended.
func (w *world) replaceRun() {
	runs := slices.DeleteFunc(w.runs(), func(run capture.Run) bool {
		return slices.ContainsFunc(w.recorders, func(r *schedRecorder) bool { return !r.inFile && r.Run() == run.Number })
	})
	if len(runs) == 0 {
		return
	}
	run := runs[w.random.IntN(len(runs))]
	w.note("replace %s", filepath.Base(run.Path))
	w.replace(w.ring.Path(run.Number), w.other(run.Number), w.random.IntN(2) == 0)
	if run.Path != w.ring.Path(run.Number) {
		if err := os.Remove(run.Path); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) replace(path string, b []byte, inPlace bool) {
	target := path + ".new"
	if inPlace {
		target = path
	}
	if err := os.WriteFile(target, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if w.random.IntN(2) == 0 {
		old := time.Now().Add(-time.Hour)
		_ = os.Chtimes(target, old, old)
	}
	if !inPlace {
		if err := os.Rename(target, path); err != nil {
			w.t.Fatal(err)
		}
	}
}

// replaceFile puts another recording in the place of the named file.
func (w *world) replaceFile() {
	written := slices.ContainsFunc(w.recorders, func(r *schedRecorder) bool { return r.inFile })
	if runtime.GOOS == "windows" && written {
		return
	}
	inPlace := !written && w.random.IntN(2) == 0
	w.note("replace the file, in place %t", inPlace)
	w.replace(w.file, w.other(0), inPlace)
	for _, r := range w.recorders {
		if r.inFile {
			r.open = nil
		}
	}
}

// A wanted is an exchange as its files have it.
type wanted struct {
	id, name, channel string
	talk              live.Talk
	at                time.Time
}

// want reads the request frames of the ring, or of a file: the exchanges that are listed, in the order of their times.
func (w *world) want(path string) (all []wanted) {
	paths := []string{path}
	if path == "" {
		paths = nil
		for _, run := range w.runs() {
			paths = append(paths, run.Path)
		}
	}
	for _, path := range paths {
		all = append(all, w.wantOf(path)...)
	}
	slices.SortFunc(all, func(a, b wanted) int { return a.at.Compare(b.at) })
	return all
}

// wantOf reads one file. What is open at the end of a part is listed in the next one, which begins with it.
func (w *world) wantOf(path string) (all []wanted) {
	f, err := rows.OpenLines(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	type run struct {
		talk int
		by   map[string]*wanted
	}
	runs, heads, order := map[string]*run{}, 0, []*wanted{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line struct {
			Capture, Run, First, Conn int
			In, Dir, Raw              string
			Time                      time.Time
			Next                      int
			Carried                   *int
		}
		if err := json.Unmarshal(bytes.Replace(lines.Bytes(), []byte(`"mcpc-traffic"`), []byte(`"capture"`), 1), &line); err != nil {
			w.t.Fatalf("%s: %v in %s", path, err, lines.Bytes())
		}
		if line.Capture > 0 {
			heads++
			runs[line.In] = &run{cmp.Or(line.First, line.Run, -heads), map[string]*wanted{}}
			continue
		}
		r := runs[line.In]
		if r == nil {
			w.t.Fatalf("%s: a line without a head: %s", path, lines.Bytes())
		}
		leave := func(which func(x *wanted) bool) {
			for id, x := range r.by {
				if which(x) {
					delete(r.by, id)
					order = slices.DeleteFunc(order, func(y *wanted) bool { return y == x })
				}
			}
		}
		switch {
		case line.Carried != nil:
			leave(func(x *wanted) bool {
				return x.channel != exchange.ChannelOpen && x.channel != exchange.ChannelCancelled
			})
		case line.Next > 0:
			leave(func(x *wanted) bool {
				return x.channel == exchange.ChannelOpen || x.channel == exchange.ChannelCancelled
			})
		case line.Raw != "":
			var m struct {
				ID, Method string
				Params     struct{ Name, RequestID string }
				Result     *struct{ IsError bool }
				Error      any
			}
			if err := json.Unmarshal([]byte(line.Raw), &m); err != nil {
				w.t.Fatal(err)
			}
			x := r.by[cmp.Or(m.ID, m.Params.RequestID)]
			switch {
			case m.ID != "" && m.Method != "":
				x = &wanted{id: m.ID, name: m.Params.Name, channel: exchange.ChannelOpen, talk: live.Talk{Run: r.talk, Conn: line.Conn}, at: line.Time}
				r.by[m.ID] = x
				order = append(order, x)
			case x == nil:
			case m.Method != "":
				x.channel = exchange.ChannelCancelled
			case m.Error != nil:
				x.channel = string(wire.RPCFailed)
			case m.Result != nil && m.Result.IsError:
				x.channel = string(wire.ToolError)
			default:
				x.channel = exchange.ChannelOK
			}
		}
	}
	for _, x := range order {
		all = append(all, *x)
	}
	return all
}

// check compares all readers with the files.
func (w *world) check() {
	for _, side := range w.readers {
		want := w.want(side.path)
		listed := w.checkLog(side.path, want)
		w.checkStats(side.path, want)
		w.checkShow(side.path, listed)
		w.printed(side, side.follow.nextRows(), want)
		w.printed(side, side.follow.nextRows(), want) // what was touched may not rest before
		w.checkFollow(side, want)
		for _, v := range side.views {
			w.checkView(side.path, v, want, listed)
		}
	}
}

func (w *world) errorf(path, reader, format string, args ...any) {
	w.t.Helper()
	if path != "" {
		reader += " of the file"
	}
	w.t.Errorf("%s: %s", reader, fmt.Sprintf(format, args...))
}

// text is what readers have in common of a row.
func rowText(r *rows.Row) string {
	frames, err := r.Frames()
	return fmt.Sprint(live.KeyOf(r), r.Key(), " ", r.Head().Run, r.Head().Target, " ", r.ID, " ", r.Method, " ", r.Name, " ", r.Channel, " ", r.Time.UTC(), r.Duration, r.Sent, r.Received, r.Conn,
		r.Notes, r.IsMain, r.IsRunOver(), len(frames), err)
}

func wantText(x wanted) string { return x.id + " " + x.name + " " + x.channel }

// checkLog compares `log`, all of it, its last rows and with filters, and returns what it has of each row.
func (w *world) checkLog(path string, want []wanted) (listed []*rows.Row) {
	w.t.Helper()
	list := func(most int, words ...string) []*rows.Row {
		fits, err := filter.Parse(strings.Join(words, " "), w.f.Now(), nil)
		if err != nil {
			w.t.Fatal(err)
		}
		all, out := readRows(context.Background(), w.f, path, newSelection(w.f, fits), most)
		if !out.OK() {
			w.t.Fatalf("log %v: %+v", words, out)
		}
		return all
	}
	compare := func(reader string, got []*rows.Row, want []wanted) {
		w.t.Helper()
		if difference := unlike(texts(got, func(r *rows.Row) string { return r.ID + " " + r.Name + " " + r.Channel }), texts(want, wantText)); difference != "" {
			w.errorf(path, reader, "%s", difference)
		}
	}
	listed = list(0)
	compare("log", listed, want)
	most := 1 + w.random.IntN(12)
	compare(fmt.Sprintf("log -n %d", most), list(most), want[max(0, len(want)-most):])
	compare("log channel:tool_error", list(0, "channel:"+string(wire.ToolError)), slices.DeleteFunc(slices.Clone(want), func(x wanted) bool { return x.channel != string(wire.ToolError) }))
	if len(want) > 0 {
		x := want[w.random.IntN(len(want))]
		compare("log body:", list(0, `body:"about `+x.id+`,"`), []wanted{x})
	}
	return listed
}

// checkStats compares `stats`.
func (w *world) checkStats(path string, want []wanted) {
	w.t.Helper()
	var stats rows.Stats
	all, err := filter.Parse("", w.f.Now(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	out := eachCapture(w.f, path, func(c *rows.Capture, _ time.Time) (more bool) {
		newSelection(w.f, all).each(c, stats.Add)
		return true
	})
	if !out.OK() {
		w.t.Fatalf("stats: %+v", out)
	}
	got := map[string]int{}
	for _, g := range stats.Groups() {
		got[g.Name] += g.Count
	}
	for channel, n := range groupOf(stats.All()).Failures {
		got[channel] = n
	}
	got["open"], got["cancelled"] = stats.All().Open, stats.All().Cancelled
	expect := map[string]int{"open": 0, "cancelled": 0}
	for _, x := range want {
		expect[x.name]++
		if x.channel != exchange.ChannelOK {
			expect[x.channel]++
		}
	}
	if !maps.Equal(got, expect) {
		w.errorf(path, "stats", "%v, want %v", got, expect)
	}
}

// checkShow shows some of the rows by the numbers that `log` printed.
func (w *world) checkShow(path string, listed []*rows.Row) {
	w.t.Helper()
	for range min(3, len(listed)) {
		row := listed[w.random.IntN(len(listed))]
		word := row.Number()
		if path != "" {
			word = path + "#" + word
		}
		c, shown, out := recorded.Pick(w.f, word)
		if !out.OK() {
			w.errorf(path, "show", "%s: %+v", word, out)
			continue
		}
		x, err := shown.Exchange()
		if err != nil || x == nil || !bytes.Contains(x.Request.Raw, []byte(`"id":"`+row.ID+`"`)) || rowText(shown) != rowText(row) {
			w.errorf(path, "show", "%s: %v\n- %s\n+ %s", word, err, rowText(row), rowText(shown))
		}
		c.Close()
	}
}

// printed notes what a follower prints.
func (w *world) printed(side *sideReaders, rows []*rows.Row, want []wanted) {
	w.t.Helper()
	now := map[string]string{}
	for _, x := range want {
		now[x.id] = x.channel
	}
	for _, r := range rows {
		channel, there := now[r.ID]
		if !there || channel != r.Channel {
			w.errorf(side.path, "follow", "printed %s %s, which is %q", r.ID, r.Channel, channel)
		}
		times := side.ended
		if r.IsOpen() {
			times = side.open
		}
		if times[r.ID]++; times[r.ID] > 1 {
			w.errorf(side.path, "follow", "printed %s %s %d times", r.ID, r.Channel, times[r.ID])
		}
	}
}

// checkFollow compares what a follower printed.
func (w *world) checkFollow(side *sideReaders, want []wanted) {
	w.t.Helper()
	for _, x := range want {
		times := side.ended[x.id]
		if x.channel == exchange.ChannelOpen || w.late[x.id] {
			times += side.open[x.id]
		}
		if times == 0 {
			w.errorf(side.path, "follow", "did not print %s", wantText(x))
		}
	}
}

// checkView compares a live view: its list, its counters and its conversations.
func (w *world) checkView(path string, v *schedView, want []wanted, listed []*rows.Row) {
	w.t.Helper()
	reader := fmt.Sprintf("a view of at most %d", v.most)
	v.Step()
	if v.most > 0 {
		want = want[max(0, len(want)-v.most):]
		listed = listed[max(0, len(listed)-v.most):]
	}
	found, err := v.Find(context.Background(), live.Query{})
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	v.Look(found.Keys, func(i int, r *rows.Row) {
		if r == nil {
			got = append(got, found.Keys[i].String()+" is gone")
			return
		}
		got = append(got, rowText(r))
	})
	if difference := unlike(got, texts(listed, rowText)); difference != "" {
		w.errorf(path, reader, "beside log: %s", difference)
	}
	type counts struct{ rows, open, failed int }
	all, talks := counts{}, map[live.Talk]counts{}
	for _, x := range want {
		c := talks[x.talk]
		for _, c := range []*counts{&c, &all} {
			c.rows++
			switch x.channel {
			case exchange.ChannelOpen:
				c.open++
			case string(wire.ToolError), string(wire.RPCFailed):
				c.failed++
			}
		}
		talks[x.talk] = c
	}
	if st := v.Status(); (counts{st.Rows, st.Open, st.Failed}) != all {
		w.errorf(path, reader, "counts %+v, want %+v", st, all)
	}
	gotTalks := map[live.Talk]counts{}
	for _, c := range v.Conversations() {
		gotTalks[c.Talk] = counts{c.Rows, c.Open, c.Failed}
	}
	if !maps.Equal(gotTalks, talks) {
		w.errorf(path, reader, "conversations %v, want %v", gotTalks, talks)
	}
	if len(want) > 0 {
		x := want[w.random.IntN(len(want))]
		found, err := v.Find(context.Background(), live.Query{Filter: `body:"about ` + x.id + `,"`})
		for err == nil && found.Pending > 0 {
			v.Wait(context.Background(), found.Seq)
			found, err = v.Find(context.Background(), live.Query{Filter: `body:"about ` + x.id + `,"`})
		}
		if err != nil || len(found.Keys) != 1 {
			w.errorf(path, reader, "body: %s is found in %v, %v", x.id, found.Keys, err)
		}
	}
}

func texts[T any](all []T, text func(T) string) (out []string) {
	for _, x := range all {
		out = append(out, text(x))
	}
	return out
}

// unlike says how two lists differ; "" if they do not.
func unlike(got, want []string) string {
	if slices.Equal(got, want) {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows, want %d", len(got), len(want))
	for _, x := range got {
		if !slices.Contains(want, x) {
			b.WriteString("\n+ " + x)
		}
	}
	for _, x := range want {
		if !slices.Contains(got, x) {
			b.WriteString("\n- " + x)
		}
	}
	return b.String()
}
