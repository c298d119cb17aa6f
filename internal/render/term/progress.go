package term

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/jsonraw"
)

// How the line of progress behaves on a terminal.
const (
	// drawDelay is how long nothing is drawn, so that what is quick does not flash.
	drawDelay = 300 * time.Millisecond
	// redraw is the shortest time between two drawings.
	redraw = 100 * time.Millisecond
	// slowAfter is when the elapsed time appears, and the way out.
	slowAfter = 10 * time.Second
)

// A Progress shows how far a request is and what the server logs meanwhile. How
// far it is appears on one line that is drawn again and again and goes away: on a
// terminal only, since a pipe cannot redraw a line.
//
// It is a writer: what is written to standard error while a Progress lives goes
// through it, so that the line is out of the way. Its methods may be called from
// several goroutines.
type Progress struct {
	w   io.Writer
	st  Style
	now func() time.Time

	mu    sync.Mutex
	start time.Time
	drawn time.Time
	// shown is how many columns the line on the screen has; 0 is no line.
	shown int
	// midline is set while the text last written through it has no line end, a
	// prompt for instance, which must not be drawn over.
	midline bool
	done    bool
	// held is what waits to be written while a pager has the terminal; nil while
	// none has.
	held *bytes.Buffer

	// activity is what is waited for, and leaving what Ctrl-C does; empty for a plain
	// request.
	activity, onCtrlC string

	frame int
	last  progressUpdate
}

// A progressUpdate is the last progress notification; known is set where there was one.
type progressUpdate struct {
	known           bool
	progress, total float64
	message         string
}

// NewProgress begins to show progress on w. now is the clock that slows the
// drawing down.
func NewProgress(w io.Writer, st Style, now func() time.Time) *Progress {
	return &Progress{w: w, st: st, now: now, start: now()}
}

// Update takes the params of one progress notification. What is not a number does
// not move the line, nor does what is smaller than before.
func (p *Progress) Update(params jsonraw.Members) {
	if !p.st.Terminal {
		return
	}
	get := func(name string) json.RawMessage { raw, _ := params.Get(name); return raw }
	value, ok := jsonraw.Float(get("progress"))
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.known || value > p.last.progress {
		p.last.progress = value
	}
	p.last.known, p.last.message, p.last.total = true, params.Text("message"), 0
	if t, ok := jsonraw.Float(get("total")); ok && t > 0 {
		p.last.total = t
	}
	p.drawLocked()
}

// Waiting says what is waited for, other than an answer, and what Ctrl-C does
// about it.
func (p *Progress) Waiting(doing, leaving string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.activity = doing
	p.onCtrlC = leaving
	p.drawLocked()
}

// Tick draws the line anew, for a caller with a clock that ticks: it shows that
// something is going on before the first notification, and the time that passes.
func (p *Progress) Tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawLocked()
}

// Log writes one log message of the server: `[warning] logger: data`, without the
// brackets where the server gave it no level.
func (p *Progress) Log(level, logger string, data json.RawMessage) {
	text := p.st.Excerpt([]byte(LogText(data)), MaxExcerpt)
	if logger != "" {
		text = logger + ": " + text
	}
	if level != "" {
		level = p.st.Paint(cmp.Or(levelColors[level], Dim), "["+p.st.Line(level)+"]") + " "
	}
	_, _ = io.WriteString(p, level+p.st.Line(text)+"\n")
}

// levelColors are those of the levels that say that something is wrong.
var levelColors = map[string]string{"error": Red, "critical": Red, "alert": Red, "emergency": Red, "warning": Yellow}

// Done takes the line away for good.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	p.done = true
}

// Restart begins anew, for the next request.
func (p *Progress) Restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = false
	p.last = progressUpdate{}
	p.activity, p.onCtrlC, p.start = "", "", p.now()
}

// Write writes to the stream of the line, which is taken away first and comes
// back when it is drawn next.
func (p *Progress) Write(b []byte) (int, error) { return p.writeTo(p.w, b) }

// Wrap gives a writer to another stream on the same terminal, standard output
// for instance, before whose text the line is taken away too.
func (p *Progress) Wrap(w io.Writer) io.Writer { return wrapped{p, w} }

type wrapped struct {
	p *Progress
	w io.Writer
}

func (w wrapped) Write(b []byte) (int, error) { return w.p.writeTo(w.w, b) }

func (p *Progress) writeTo(w io.Writer, b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != nil && w == p.w {
		return p.held.Write(b)
	}
	p.clearLocked()
	if len(b) > 0 {
		p.midline = b[len(b)-1] != '\n'
	}
	return w.Write(b)
}

// Hold keeps back what is written to the stream of the line until Release.
func (p *Progress) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	p.held = &bytes.Buffer{}
}

// Release writes what was held.
func (p *Progress) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != nil {
		_, _ = p.w.Write(p.held.Bytes())
		p.held = nil
	}
}

// Newline tells that a person ended the line that a prompt began: the waiting
// begins there.
func (p *Progress) Newline() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.midline, p.start = false, p.now()
}

func (p *Progress) drawLocked() {
	now := p.now()
	if !p.st.Terminal || p.done || p.held != nil || p.midline || p.st.Columns() < 10 ||
		now.Sub(p.start) < drawDelay || now.Sub(p.drawn) < redraw {
		return
	}
	p.drawn = now
	p.frame++
	line := ansi.Truncate(p.lineLocked(now), p.st.Columns()-1, "")
	width := Width(line)
	// Blanks take the rest of the old line away: they work on every terminal.
	_, _ = io.WriteString(p.w, "\r"+line+strings.Repeat(" ", max(0, p.shown-width)))
	p.shown = max(width, p.shown)
}

func (p *Progress) clearLocked() {
	if p.shown == 0 {
		return
	}
	_, _ = io.WriteString(p.w, "\r"+strings.Repeat(" ", p.shown)+"\r")
	p.shown = 0
}

// lineLocked is `[####----]  2/5  40%  1/s  eta 3 s  (12 s, Ctrl-C cancels)  message`.
func (p *Progress) lineLocked(now time.Time) string {
	var parts []string
	switch {
	case p.last.total > 0:
		share := math.Max(0, math.Min(1, p.last.progress/p.last.total))
		parts = append(parts, p.bar(share), fmt.Sprintf("%s/%s", formatNumber(p.last.progress), formatNumber(p.last.total)),
			fmt.Sprintf("%.0f%%", math.Floor(100*share)))
		parts = append(parts, p.speed(now, share)...)
	case p.last.known:
		parts = append(parts, p.spinner(), formatNumber(p.last.progress))
	case p.activity == "":
		parts = append(parts, p.spinner(), "waiting for the response")
	default:
		parts = append(parts, p.spinner())
	}
	if elapsed := now.Sub(p.start); elapsed >= slowAfter {
		parts = append(parts, "("+Duration(elapsed)+", Ctrl-C "+cmp.Or(p.onCtrlC, "cancels")+")")
	}
	if p.activity != "" {
		parts = append(parts, p.st.Line(p.st.Excerpt([]byte(p.activity), 400)))
	}
	if p.last.message != "" {
		parts = append(parts, p.st.Line(p.st.Excerpt([]byte(p.last.message), 400)))
	}
	return strings.Join(parts, "  ")
}

// speed is the rate and the time left, once a second has shown how fast it goes.
func (p *Progress) speed(now time.Time, share float64) []string {
	elapsed := now.Sub(p.start)
	if share <= 0.01 || share >= 1 || elapsed < time.Second {
		return nil
	}
	left := float64(elapsed) * (1 - share) / share
	if left > float64(24*time.Hour) {
		return nil
	}
	return []string{formatNumber(math.Round(10*p.last.progress/elapsed.Seconds())/10) + "/s",
		"eta " + Duration(max(time.Duration(left).Round(time.Second), time.Second))}
}

const barWidth = 20

func (p *Progress) bar(share float64) string {
	full := p.st.Ornament("#", "█")
	empty := p.st.Ornament("-", "░")
	n := int(share * barWidth)
	return "[" + strings.Repeat(full, n) + strings.Repeat(empty, barWidth-n) + "]"
}

func (p *Progress) spinner() string {
	const turns = `|/-\`
	return turns[p.frame%len(turns):][:1]
}

// short writes a number without more digits than say something.
func formatNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}

// LogText is what a log message says.
func LogText(data json.RawMessage) string {
	if data == nil {
		return "(no data)"
	}
	return jsonraw.TextOrRaw(jsonraw.Compact(data))
}
