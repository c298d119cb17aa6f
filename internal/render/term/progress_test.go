package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/tests/rendertest"
)

// A progressScreen is a terminal as far as a line of progress needs one: it knows \r, \n and the
// position of each character.
type progressScreen struct {
	lines []string
	row   []rune
	at    int
	width int
	// drawings counts how often the cursor went back.
	drawings int
}

func (s *progressScreen) Write(p []byte) (int, error) {
	for _, r := range string(p) {
		switch r {
		case '\r':
			s.at = 0
			s.drawings++
		case '\n':
			s.lines = append(s.lines, strings.TrimRight(string(s.row), " "))
			s.row, s.at = nil, 0
		default:
			for len(s.row) <= s.at {
				s.row = append(s.row, ' ')
			}
			s.row[s.at] = r
			s.at++
		}
		s.width = max(s.width, s.at)
	}
	return len(p), nil
}

func (s *progressScreen) line() string { return strings.TrimRight(string(s.row), " ") }

type progressClock struct{ t time.Time }

func (c *progressClock) now() time.Time { return c.t }

func (c *progressClock) pass(ms time.Duration) { c.t = c.t.Add(ms * time.Millisecond) }

func onScreen(st Style) (*progressScreen, *progressClock, *Progress) {
	s, c := &progressScreen{}, &progressClock{t: time.Unix(0, 0)}
	st.Terminal = true
	if st.Width == 0 {
		st.Width = 80
	}
	return s, c, NewProgress(s, st, c.now)
}

func jsonOf(v any) json.RawMessage {
	b, _ := json.Marshal(v)
	return b
}

// told returns the params of a notification; nil members are omitted.
func told(progress, total json.RawMessage, message string) (params jsonraw.Members) {
	for _, m := range []jsonraw.Member{
		{Name: "progress", Value: progress},
		{Name: "total", Value: total},
		{Name: "message", Value: jsonraw.Quote(message)},
	} {
		if m.Value != nil {
			params = append(params, m)
		}
	}
	return params
}

// stepper returns a function that lets ms milliseconds pass, calls do, and compares the line.
func stepper(t *testing.T, s *progressScreen, c *progressClock) func(ms time.Duration, do func(), want string) {
	return func(ms time.Duration, do func(), want string) {
		t.Helper()
		c.pass(ms)
		do()
		if got := s.line(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestProgressOnATerminal(t *testing.T) {
	s, c, p := onScreen(Style{ASCII: true})
	step := stepper(t, s, c)
	step(0, p.Tick, "")
	step(200, p.Tick, "")
	step(200, p.Tick, "/  waiting for the response")
	step(200, func() { p.Update(told(jsonOf(3), nil, "")) }, "-  3")
	step(50, func() { p.Update(told(jsonOf(4), nil, "")) }, "-  3")
	step(50, p.Tick, `\  4`)
	step(1400, func() { p.Update(told(jsonOf(5), jsonOf(10), "half "+rendertest.HostileText)) },
		"[##########----------]  5/10  50%  2.4/s  eta 2 s  half ok^[[2J<U+202E>kcatta<U")
	step(1000, func() { p.Update(told(jsonOf(7.25), jsonOf(10), "")) }, "[##############------]  7.25/10  72%  2.3/s  eta 1 s")
	step(10000, func() { p.Update(told(jsonOf(12), jsonOf(10), "")) }, "[####################]  12/10  100%  (13 s, Ctrl-C cancels)")
	step(100, p.Done, "")
	step(100, p.Tick, "")
	if s.width >= 80 {
		t.Errorf("the line reached column %d", s.width)
	}
}

func TestProgressOfATask(t *testing.T) {
	s, c, p := onScreen(Style{ASCII: true})
	step := stepper(t, s, c)
	reading := func() { p.Waiting("task: reading \x1b[2J", "leaves it running") }
	step(400, reading, "/  task: reading ^[[2J")
	step(10000, p.Tick, "-  (10 s, Ctrl-C leaves it running)  task: reading ^[[2J")
	step(100, func() { p.Waiting("task: writing", "leaves it running") }, `\  (11 s, Ctrl-C leaves it running)  task: writing`)
	step(100, func() { p.Update(told(jsonOf(1), nil, "")) }, "|  1  (11 s, Ctrl-C leaves it running)  task: writing")
}

func TestProgressIsDrawnTenTimesASecond(t *testing.T) {
	s, c, p := onScreen(Style{})
	for n := range 20_000 {
		c.t = c.t.Add(100 * time.Microsecond)
		p.Update(told(jsonOf(n+1), jsonOf(20_000), ""))
	}
	if s.drawings > 20 {
		t.Errorf("%d drawings in two seconds", s.drawings)
	}
	if s.drawings < 10 {
		t.Errorf("only %d drawings in two seconds", s.drawings)
	}
}

func TestProgressStepsAside(t *testing.T) {
	s, c, p := onScreen(Style{ASCII: true})
	c.pass(1000)
	p.Update(told(jsonOf(1), jsonOf(2), ""))
	if s.line() == "" {
		t.Fatal("no line to begin with")
	}
	var other progressScreen
	p.Log("warning", "db", jsonOf("slow "+rendertest.HostileText))
	p.Log("info", "", json.RawMessage(`{"n": 1.10}`))
	p.Log("", "", jsonOf("of no level"))
	_, _ = io.WriteString(p, "mcpc: warning: x\n")
	if s.line() != "" {
		t.Errorf("the line is still there: %q", s.line())
	}
	c.pass(1000)
	p.Tick()
	_, _ = io.WriteString(p.Wrap(&other), "the answer\n")
	if s.line() != "" || other.lines[0] != "the answer" {
		t.Errorf("%q, %q", s.line(), other.lines)
	}
	_, _ = io.WriteString(p, "go on? [y/N] ")
	c.pass(1000)
	p.Tick()
	if s.line() != "go on? [y/N]" {
		t.Errorf("the prompt was drawn over: %q", s.line())
	}
	_, _ = io.WriteString(s, "y\n")
	c.pass(60_000)
	p.Newline()
	p.Tick()
	c.pass(1000)
	p.Tick()
	if got, want := s.line(), "[##########----------]  1/2  50%  1/s  eta 1 s"; got != want {
		t.Errorf("after the prompt %q, want %q: the person's time does not count", got, want)
	}
	want := []string{
		"[warning] db: slow ok^[[2J<U+202E>kcatta<U+202C>^Jmcpc: all is well^M<U+009B>31m<U+200B>",
		`[info] {"n":1.10}`, "of no level", "mcpc: warning: x", "go on? [y/N] y",
	}
	if strings.Join(s.lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(s.lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestProgressInAPipe(t *testing.T) {
	var b bytes.Buffer
	c := &progressClock{t: time.Unix(0, 0)}
	p := NewProgress(&b, Style{}, c.now)
	c.pass(1000)
	p.Tick()
	p.Update(told(jsonOf(2), jsonOf(5), "half way"))
	p.Log("error", "", jsonOf("boom "+rendertest.HostileText))
	p.Done()
	if want := "[error] boom " + Line(rendertest.HostileText) + "\n"; b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}

func TestInvalidProgressIsIgnored(t *testing.T) {
	s, c, p := onScreen(Style{ASCII: true})
	c.pass(1000)
	p.Update(told(jsonOf(4), jsonOf(8), ""))
	for _, bad := range []struct{ progress, total json.RawMessage }{
		{jsonOf(3), jsonOf(8)}, {jsonOf(4), jsonOf(8)}, {jsonOf("5"), jsonOf(8)}, {json.RawMessage("1e999"), jsonOf(8)}, {nil, nil},
	} {
		c.pass(200)
		p.Update(told(bad.progress, bad.total, ""))
	}
	if !strings.Contains(s.line(), "4/8") {
		t.Errorf("line %q", s.line())
	}
	c.pass(200)
	p.Update(told(jsonOf(-5), jsonOf(-1), ""))
	p.Update(told(jsonOf(1e300), jsonOf(0), ""))
	c.pass(200)
	p.Tick()
	if !strings.Contains(s.line(), "1e+300") {
		t.Errorf("a total of 0 is no total: %q", s.line())
	}
}

func TestProgressFromManyGoroutines(t *testing.T) {
	c := &progressClock{t: time.Unix(0, 0).Add(time.Hour)}
	p := NewProgress(&progressScreen{}, Style{Terminal: true, Width: 40}, c.now)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 50 {
				p.Update(told(jsonOf(i), jsonOf(50), "x"))
				p.Log("info", "", jsonOf(n))
				p.Tick()
				fmt.Fprintln(p, i)
			}
		})
	}
	wg.Wait()
	p.Done()
}
