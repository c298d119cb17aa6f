package client

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A transcript is a conversation with a scripted server, as a text: the client's instructions, what
// the server expects and answers, and how it ends. Time is the time of a synctest bubble, so that a
// minute of waiting takes no time.
//
//	options     one option a line: protocol, known, quick, resume REVISION
//	            SESSION, declared JSON (behind resume), transport sse|stdio,
//	            field NAME: VALUE, caps JSON, idle D, hard D, probe D, pages N,
//	            items N, message N, loglevel L, standing,
//	            answer METHOD RESULT|declined|unfit|unanswered [think D]: what the user
//	            says to what the server asks, each line once, in order
//	do          one step a line, after the conversation was opened:
//	            call|once|progress|bare METHOD [PARAMS], tool SCHEMA-FILE PARAMS,
//	            list METHOD, notify METHOD [PARAMS], raw BYTES,
//	            interrupt D METHOD [PARAMS] (Ctrl-C after D), memory, sleep D,
//	            listen D FILTER (for that time), listens D FILTER | FILTER (at once)
//	> POST      (GET, DELETE) the next HTTP request: header lines that must be
//	            there, "Name: -" for one that must not, and members that the
//	            body must have
//	< 200 sse   the answer to it: status, then json, sse, text, html or none, then
//	            perhaps open (the stream goes on), cut, short (a byte too few) or
//	            gzip; header lines with a capital letter, a blank line, the body
//	< more      more of the newest open stream; "< end" and "< cut" end it
//	hung up     the client must close the connection of the newest stream
//	> line      the next line on standard input, as members
//	< line      lines on standard output; "< eof" ends it
//	wait D      the server lets time pass
//	outcome     what the client reported; -update writes it anew
//	frames      the frames that a tap saw, if the file has this section
type transcript struct {
	t       *testing.T
	archive *txtar.Archive
	opt     Options
	steps   []string
	answers []string
	script  []txtar.File

	mu     sync.Mutex
	log    strings.Builder
	frames strings.Builder
}

var update = flag.Bool("update", false, "write the outcomes of the transcripts anew")

// Each of them holds the laws as well (lawful_test.go).
//
// rules 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 33, 34, 45, 46, 51, 56, 57, 67, 72, 73
// rules 75, 118, 119, 127, 131, 140, 145, 146, 147, 148, 149, 150, 151, 162
func TestTranscripts(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playFile(t, name) })
		})
	}
}

func playFile(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tr := &transcript{t: t, archive: archive}
	tr.read()
	tr.play()
	tr.compare(name, "outcome", tr.log.String())
	tr.compare(name, "frames", tr.frames.String())
}

// read sorts the sections: options and steps, and the rest as the script.
func (tr *transcript) read() {
	tr.opt = Options{Server: Server{URL: "http://127.0.0.1/mcp", Name: "server"}, Version: "0", Now: time.Now}
	for _, f := range tr.archive.Files {
		switch f.Name {
		case "options":
			for line := range strings.Lines(string(f.Data)) {
				tr.option(strings.TrimSpace(line))
			}
		case "do":
			tr.steps = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		case "outcome", "frames":
		default:
			tr.script = append(tr.script, f)
		}
	}
	tr.opt.Found = func(f wire.Finding) { tr.say("found: %s %s: %s", f.Severity, f.Rule, f.Text) }
	tr.opt.Notified = func(m *wire.Message) { tr.say("notified: %s", m.Method) }
	tr.opt.Reconnected = func(r Renewal) { tr.say("renewed: %s", r.Why) }
	if tr.section("frames") != nil {
		tr.opt.Tap = tr.frame
	}
}

func (tr *transcript) section(name string) *txtar.File {
	for i := range tr.archive.Files {
		if tr.archive.Files[i].Name == name {
			return &tr.archive.Files[i]
		}
	}
	return nil
}

func (tr *transcript) option(line string) {
	name, value, _ := strings.Cut(line, " ")
	number, _ := strconv.Atoi(value)
	span, _ := time.ParseDuration(value)
	o := &tr.opt
	switch name {
	case "protocol":
		o.Protocol = value
	case "known":
		o.KnownRevision = value
	case "quick":
		o.SkipDiscover = true
	case "resume":
		revision, session, _ := strings.Cut(value, " ")
		o.Resume = &Memory{Revision: revision, SessionID: session, Transport: transport.StreamableHTTP}
	case "transport":
		o.Server.Transport = transport.Name(value)
	case "field":
		name, value, _ := strings.Cut(value, ":")
		o.Fields = append(o.Fields, wire.Field{Name: name, Value: strings.TrimSpace(value)})
	case "caps":
		o.Capabilities = json.RawMessage(value)
	case "verbatim":
		o.Capabilities, o.Verbatim = json.RawMessage(value), true
	case "standing":
		o.GetStream = true
	case "declared":
		o.Resume.Declared = json.RawMessage(value)
	case "answer":
		tr.answers = append(tr.answers, value)
		o.Asker = tr.answer
	case "loglevel":
		o.LogLevel = value
	case "idle":
		o.Limits.Idle = span
	case "hard":
		o.Limits.Hard = span
	case "probe":
		o.Limits.Probe = span
	case "pages":
		o.Limits.Pages = number
	case "items":
		o.Limits.Items = number
	case "message":
		o.Limits.Message = int64(number)
	case "":
	default:
		tr.t.Fatalf("unknown option %q", name)
	}
}

// answer is the user of a transcript: the first answer for the method.
func (tr *transcript) answer(ctx context.Context, q InputRequest) Answer {
	tr.say("asked: %s key=%q again=%t %s", q.Method, q.Key, q.WillRetry, q.Params)
	i := slices.IndexFunc(tr.answers, func(a string) bool { return strings.HasPrefix(a, q.Method+" ") })
	if i < 0 {
		return Answer{Outcome: UnansweredOutcome(q.Method)}
	}
	said := strings.TrimPrefix(tr.answers[i], q.Method+" ")
	tr.answers = slices.Delete(tr.answers, i, i+1)
	said, think, _ := strings.Cut(said, " think ")
	span, _ := time.ParseDuration(think)
	select {
	case <-time.After(span):
	case <-ctx.Done():
		time.Sleep(time.Nanosecond) // of the transcript's clock: events of this moment are written first
		tr.say("asked no more")
		return Answer{}
	}
	switch said {
	case "declined":
		return Answer{Declined: true}
	case "unfit":
		return Answer{Outcome: wire.Outcome{Kind: wire.InvalidArguments, Text: "the answer does not fit"}}
	case "unanswered":
		return Answer{Outcome: UnansweredOutcome(q.Method)}
	}
	return Answer{Result: json.RawMessage(said)}
}

// play runs the client against the script.
func (tr *transcript) play() {
	laws := newLaws()
	if len(tr.opt.Fields) > 0 || slices.ContainsFunc(tr.steps, func(step string) bool { return strings.HasPrefix(step, "raw ") }) {
		laws = nil
	}
	stage := newStage(tr.t, tr.script, laws)
	if tr.opt.Server.Transport == transport.Stdio {
		tr.opt.Server.URL, tr.opt.Server.Transport = "", ""
		tr.opt.Server.Pipe = stage.pipe
	} else {
		tr.opt.Dial = stage.dial
	}
	began := time.Now()
	s, o := Open(context.Background(), tr.opt)
	synctest.Wait() // for what the GET stream has brought by now
	if o.OK() {
		tr.say("open: ok %s over %s, %s", s.Revision(), s.Transport(), s.Why())
		for _, step := range tr.steps {
			tr.step(s, strings.TrimSpace(step))
		}
		synctest.Wait() // for what the client still answers
		s.Close(context.Background(), true)
	} else {
		tr.say("open: %s", tr.told(o))
	}
	synctest.Wait()
	if rest := stage.close(); rest != "" {
		tr.say("not played: %s", rest)
	}
	tr.say("closed after %s", time.Since(began).Truncate(time.Microsecond))
}

func (tr *transcript) step(s *Session, line string) {
	ctx := context.Background()
	verb, rest, _ := strings.Cut(line, " ")
	method, params, _ := strings.Cut(rest, " ")
	call := Call{Method: method}
	if params != "" {
		call.Params = json.RawMessage(params)
	}
	switch verb {
	case "", "close":
	case "call":
		tr.say("%s: %s", method, tr.told(s.Do(ctx, call)))
	case "once":
		call.Once = true
		tr.say("%s: %s", method, tr.told(s.Do(ctx, call)))
	case "bare":
		call.Bare = true
		tr.say("%s: %s", method, tr.told(s.Do(ctx, call)))
	case "progress":
		call.Progress = true
		tr.say("%s: %s", method, tr.told(s.Do(ctx, call)))
	case "tool":
		call = Call{Method: "tools/call", Params: json.RawMessage(params), Schema: tr.section(method).Data}
		tr.say("tools/call: %s", tr.told(s.Do(ctx, call)))
	case "both":
		tr.both(s, rest)
	case "notify":
		tr.say("%s: %s", method, tr.told(s.Notify(ctx, call)))
	case "raw":
		tr.say("raw: %s", tr.told(s.Raw(ctx, []byte(rest), false)))
	case "list":
		l, o := s.ListUntil(ctx, method, WalkOptions{}, nil)
		for _, f := range l.Findings {
			tr.say("list: found %s %s", f.Rule, f.Text)
		}
		tr.say("list %s: %s; %d pages, whole %t, ttl %s, %s", method, tr.told(o), len(l.Pages), l.IsComplete, ttl(l.TTL), l.Result())
	case "interrupt":
		tr.interrupt(s, rest)
	case "task", "await", "leave", "canceltask", "offer":
		tr.taskStep(ctx, s, verb, rest)
	case "listen":
		tr.listen(s, "", rest)
	case "listens":
		tr.listens(s, rest)
	case "memory":
		m := s.Memory()
		tr.say("memory: %s %s %q %s", m.Revision, m.Transport, m.SessionID, m.Info.ServerInfo)
	case "sleep":
		span, _ := time.ParseDuration(rest)
		time.Sleep(span)
	default:
		tr.t.Fatalf("unknown step %q", line)
	}
}

var errCtrlC = errors.New("interrupted by a test")

// interrupt cancels a call after a time.
func (tr *transcript) interrupt(s *Session, rest string) {
	after, rest, _ := strings.Cut(rest, " ")
	method, params, _ := strings.Cut(rest, " ")
	span, err := time.ParseDuration(after)
	if err != nil {
		tr.t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(span, func() { cancel(errCtrlC) })
	call := Call{Method: method}
	if params != "" {
		call.Params = json.RawMessage(params)
	}
	tr.say("%s: %s", method, tr.told(s.Do(ctx, call)))
}

// both sends two requests at once, the second when the first is under way.
func (tr *transcript) both(s *Session, methods string) {
	first, second, _ := strings.Cut(methods, " ")
	var outcomes [2]string
	var wg sync.WaitGroup
	for i, method := range []string{first, second} {
		wg.Go(func() { outcomes[i] = method + ": " + tr.told(s.Do(context.Background(), Call{Method: method})) })
		synctest.Wait()
	}
	wg.Wait()
	tr.say("%s", outcomes[0])
	tr.say("%s", outcomes[1])
}

func ttl(ms *int64) string {
	if ms == nil {
		return "none"
	}
	return fmt.Sprint(*ms)
}

// told returns an outcome on one line.
func (tr *transcript) told(o wire.Outcome) string {
	kind := string(o.Kind)
	if o.OK() {
		kind = "ok"
	}
	parts := []string{kind, o.Reached.String()}
	if !o.OK() {
		parts = append(parts, "("+o.Method+", "+o.Phase+")")
	}
	if o.Retryable {
		parts = append(parts, "retryable")
	}
	if o.HTTP != nil && o.HTTP.Status != 200 {
		parts = append(parts, fmt.Sprintf("http=%d", o.HTTP.Status))
	}
	if rpc := o.RPCError(); rpc != nil {
		parts = append(parts, fmt.Sprintf("code=%d", rpc.Code))
	}
	if o.Result != nil {
		parts = append(parts, "result="+jsonraw.Excerpt(o.Result, 120))
	}
	if o.Took != 0 {
		parts = append(parts, "took="+o.Took.Truncate(time.Microsecond).String())
	}
	if o.Text != "" {
		parts = append(parts, strconv.Quote(o.Text))
	}
	return strings.Join(parts, " ")
}

func (tr *transcript) say(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	fmt.Fprintf(&tr.log, format+"\n", args...)
}

// frame writes a frame on one line. The tap is called in order and never twice at the same time.
func (tr *transcript) frame(f wire.Frame) {
	w := &tr.frames
	fmt.Fprintf(w, "%d %s %s %d", f.Seq, f.Dir, f.Kind, f.Stream)
	switch {
	case f.HTTP != nil && f.HTTP.Status != 0:
		fmt.Fprintf(w, " %d", f.HTTP.Status)
	case f.HTTP != nil:
		fmt.Fprintf(w, " %s %s", f.HTTP.Method, f.HTTP.URL)
	case f.Close != nil:
		fmt.Fprintf(w, " %s %s", f.Close.How, f.Close.Text)
	default:
		fmt.Fprintf(w, " %s", jsonraw.Excerpt(f.Raw, 60))
	}
	if f.SSE != nil && f.SSE.ID != nil {
		fmt.Fprintf(w, " id=%s", *f.SSE.ID)
	}
	io.WriteString(w, "\n")
}

// compare compares the result with a section, or writes it there.
func (tr *transcript) compare(name, section, got string) {
	want := tr.section(section)
	if want == nil && section == "frames" {
		return
	}
	if *update && !tr.t.Failed() {
		if want == nil {
			tr.archive.Files = append(tr.archive.Files, txtar.File{Name: section})
			want = tr.section(section)
		}
		want.Data = []byte(got)
		if err := os.WriteFile(name, txtar.Format(tr.archive), 0o644); err != nil {
			tr.t.Fatal(err)
		}
		return
	}
	if want == nil {
		tr.t.Fatalf("%s has no outcome; go test -update writes it:\n%s", name, got)
	}
	if diff := cmp.Diff(string(want.Data), got); diff != "" {
		tr.t.Errorf("%s, %s (-want +got):\n%s", name, section, diff)
	}
}
