package term

import (
	"bytes"
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
	// drawDelay is how long nothing is drawn, so that a quick request shows no line.
	drawDelay = 300 * time.Millisecond
	// redraw is the shortest time between two draws.
	redraw = 100 * time.Millisecond
	// slowAfter is when the elapsed time and the meaning of Ctrl-C appear.
	slowAfter = 10 * time.Second
)

// A Progress shows the progress of a request and the server's log messages. The progress is one
// line, redrawn and at last cleared; on a terminal only, since a pipe cannot redraw a line.
//
// While a Progress is in use, everything for standard error must be written through it, so that it
// can clear the line first. Its methods may be called from several goroutines.
type Progress struct {
	w   io.Writer
	st  Style
	now func() time.Time

	mu       sync.Mutex
	start    time.Time
	lastDraw time.Time
	// shownWidth is the width of the line on the screen; 0 without a line.
	shownWidth int
	// isMidline is true if the last written text has no line end, as a prompt, which the line must
	// not overwrite.
	isMidline bool
	isDone    bool
	// heldText collects text while a pager uses the terminal; nil otherwise.
	heldText *bytes.Buffer

	// activity is what the line says if the command waits for something other than a response;
	// onCtrlC is the effect of Ctrl-C. Both are "" if the command waits for a response.
	activity, onCtrlC string

	frame int
	last  progressUpdate
}

// A progressUpdate is the last progress notification; known is false before the first.
type progressUpdate struct {
	known           bool
	progress, total float64
	message         string
}

// NewProgress returns a Progress on w. now is the clock that limits how often it draws.
func NewProgress(w io.Writer, st Style, now func() time.Time) *Progress {
	return &Progress{w: w, st: st, now: now, start: now()}
}

// Update reads the params of one progress notification. It ignores params without a number, and a
// progress smaller than the last.
func (p *Progress) Update(params jsonraw.Members) {
	if !p.st.Terminal {
		return
	}
	value, ok := jsonraw.Float(params.Value("progress"))
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.last.known || value > p.last.progress {
		p.last.progress = value
	}
	p.last.known = true
	p.last.message = params.Text("message")
	p.last.total = 0
	if t, ok := jsonraw.Float(params.Value("total")); ok && t > 0 {
		p.last.total = t
	}
	p.drawLocked()
}

// Waiting sets the text of the line while the command waits for something other than a response.
// onCtrlC is the effect of Ctrl-C.
func (p *Progress) Waiting(activity, onCtrlC string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.activity = activity
	p.onCtrlC = onCtrlC
	p.drawLocked()
}

// Tick redraws the line. A caller with a clock calls it, so that the line appears before the first
// notification and the elapsed time advances.
func (p *Progress) Tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawLocked()
}

// Log writes one log message of the server: `[warning] logger: data`, without the brackets if level
// is "".
func (p *Progress) Log(level, logger string, data json.RawMessage) {
	text := p.st.Excerpt([]byte(LogText(data)), MaxExcerpt)
	if logger != "" {
		text = logger + ": " + text
	}
	if level != "" {
		color := levelColors[level]
		if color == "" {
			color = Dim
		}
		level = p.st.Paint(color, "["+p.st.Line(level)+"]") + " "
	}
	_, _ = io.WriteString(p, level+p.st.Line(text)+"\n")
}

// levelColors are the colours of levels that report a problem.
var levelColors = map[string]string{"error": Red, "critical": Red, "alert": Red, "emergency": Red, "warning": Yellow}

// Done clears the line until Restart.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	p.isDone = true
}

// Restart prepares for the next request.
func (p *Progress) Restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isDone = false
	p.last = progressUpdate{}
	p.activity = ""
	p.onCtrlC = ""
	p.start = p.now()
}

// Write clears the line and writes b to its stream.
func (p *Progress) Write(b []byte) (int, error) { return p.writeTo(p.w, b) }

// Wrap returns a writer to another stream on the same terminal, such as standard output. It clears
// the line before it writes.
func (p *Progress) Wrap(w io.Writer) io.Writer { return wrapped{p, w} }

type wrapped struct {
	p *Progress
	w io.Writer
}

func (w wrapped) Write(b []byte) (int, error) { return w.p.writeTo(w.w, b) }

// writeTo clears the line and writes b to w, or keeps b while a pager uses the terminal.
func (p *Progress) writeTo(w io.Writer, b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heldText != nil && w == p.w { // other streams, such as the pager's, are not held
		return p.heldText.Write(b)
	}
	p.clearLocked()
	if len(b) > 0 {
		p.isMidline = b[len(b)-1] != '\n'
	}
	return w.Write(b)
}

// Hold collects text for the line's stream until Release.
func (p *Progress) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	p.heldText = &bytes.Buffer{}
}

// Release writes the collected text.
func (p *Progress) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heldText != nil {
		_, _ = p.w.Write(p.heldText.Bytes())
		p.heldText = nil
	}
}

// Newline records that a person ended the line of a prompt. The elapsed time starts again.
func (p *Progress) Newline() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isMidline = false
	p.start = p.now()
}

// canDrawLocked reports whether the line may be written: the terminal is wide enough and nothing else
// uses the line.
func (p *Progress) canDrawLocked() bool {
	if p.isDone || p.heldText != nil || p.isMidline {
		return false
	}
	return p.st.Terminal && p.st.Columns() >= 10
}

// drawLocked draws the line if nothing prevents it and enough time has passed.
func (p *Progress) drawLocked() {
	now := p.now()
	isTooEarly := now.Sub(p.start) < drawDelay || now.Sub(p.lastDraw) < redraw
	if isTooEarly || !p.canDrawLocked() {
		return
	}
	p.lastDraw = now
	p.frame++
	line := ansi.Truncate(p.lineLocked(now), p.st.Columns()-1, "")
	width := Width(line)
	// Blanks erase the rest of the old line on every terminal.
	_, _ = io.WriteString(p.w, "\r"+line+strings.Repeat(" ", max(0, p.shownWidth-width)))
	p.shownWidth = max(width, p.shownWidth)
}

func (p *Progress) clearLocked() {
	if p.shownWidth == 0 {
		return
	}
	_, _ = io.WriteString(p.w, "\r"+strings.Repeat(" ", p.shownWidth)+"\r")
	p.shownWidth = 0
}

// lineLocked returns `[####----] 2/5 40% 1/s eta 3 s (12 s, Ctrl-C cancels) message`.
func (p *Progress) lineLocked(now time.Time) string {
	var parts []string
	switch {
	case p.last.total > 0:
		share := math.Max(0, math.Min(1, p.last.progress/p.last.total))
		done := formatNumber(p.last.progress) + "/" + formatNumber(p.last.total)
		parts = append(parts, p.drawBar(share), done,
			fmt.Sprintf("%.0f%%", math.Floor(100*share)))
		parts = append(parts, p.speedAndETA(now, share)...)
	case p.last.known:
		parts = append(parts, p.drawSpinner(), formatNumber(p.last.progress))
	case p.activity == "":
		parts = append(parts, p.drawSpinner(), "waiting for the response")
	default:
		parts = append(parts, p.drawSpinner())
	}
	if elapsed := now.Sub(p.start); elapsed >= slowAfter {
		effect := p.onCtrlC
		if effect == "" {
			effect = "cancels"
		}
		parts = append(parts, "("+Duration(elapsed)+", Ctrl-C "+effect+")")
	}
	if p.activity != "" {
		parts = append(parts, p.st.Line(p.st.Excerpt([]byte(p.activity), 400)))
	}
	if p.last.message != "" {
		parts = append(parts, p.st.Line(p.st.Excerpt([]byte(p.last.message), 400)))
	}
	return strings.Join(parts, "  ")
}

// speedAndETA returns the rate and the remaining time. It returns nil if the estimate would be bad: in
// the first second and the first percent, at the end, and for more than a day.
func (p *Progress) speedAndETA(now time.Time, share float64) []string {
	elapsed := now.Sub(p.start)
	if share <= 0.01 || share >= 1 || elapsed < time.Second {
		return nil
	}
	remaining := float64(elapsed) * (1 - share) / share
	if remaining > float64(24*time.Hour) {
		return nil
	}
	return []string{
		formatNumber(math.Round(10*p.last.progress/elapsed.Seconds())/10) + "/s",
		"eta " + Duration(max(time.Duration(remaining).Round(time.Second), time.Second)),
	}
}

const barWidth = 20

func (p *Progress) drawBar(share float64) string {
	full := p.st.Ornament("#", "█")
	empty := p.st.Ornament("-", "░")
	n := int(share * barWidth)
	return "[" + strings.Repeat(full, n) + strings.Repeat(empty, barWidth-n) + "]"
}

func (p *Progress) drawSpinner() string {
	const turns = `|/-\`
	return turns[p.frame%len(turns):][:1]
}

// formatNumber formats a number with at most four significant digits, or as an integer.
func formatNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}

// LogText returns the data of a log message as text.
func LogText(data json.RawMessage) string {
	if data == nil {
		return "(no data)"
	}
	return jsonraw.TextOrRaw(jsonraw.Compact(data))
}
