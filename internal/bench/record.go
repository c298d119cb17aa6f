package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// A Recorder records the times of calls, in blocks of a second. Its methods may be called
// concurrently.
type Recorder struct {
	Clock
	// Observe is called a few times per second with the numbers so far; it may be nil.
	Observe func(calls, failed int64)
	samples *Samples // may be nil
	target  string

	mu sync.Mutex
	// isOpen is set in the open model, which has response times.
	isOpen bool
	// firstBlock is the index of the first block of the current run, which began at runStart.
	// earlierRuns is the duration of the runs that have ended.
	firstBlock  int
	runStart    time.Time
	earlierRuns time.Duration
	// calls and failed count the calls so far. lastObserved is when Observe was called last.
	calls, failed int64
	lastObserved  time.Time
	blocks        []block
	stages        map[string]counts
	generator     generator
	// minTimeout are the shortest times of calls that timed out, or 0.
	minTimeout minLatencies
	recent     window
	// endReason is the reason why the run ended early, or "". The server accepts calls again from
	// resumeTime on.
	endReason  string
	resumeTime time.Time
}

// minLatencies are the shortest times of calls, in microseconds.
type minLatencies struct{ response, service int64 }

// generator measures how well the calls were generated. Of the planned calls, missed counts the calls
// that could not be sent in time, heldBack the calls that were not sent because the server asked for a
// pause, and waited the calls that waited because too many were in flight.
type generator struct {
	lag              counts
	missed, heldBack int64
	waited           int64
	pauses           int64
	cpu, cpuAtStart  time.Duration
}

// A block contains the calls that were planned to start in one second.
type block struct {
	response, service counts
	channels          map[string]int64
}

// A Clock times the calls. Sleep may return early. It returns an error once ctx is done.
type Clock struct {
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// NewRecorder returns a Recorder for one target. Samples may be nil.
func NewRecorder(clock Clock, samples *Samples, target string) *Recorder {
	return &Recorder{
		Clock:     clock,
		samples:   samples,
		target:    target,
		stages:    map[string]counts{},
		generator: generator{lag: counts{}},
	}
}

const (
	blockTime    = time.Second
	observeEvery = 100 * time.Millisecond
)

// startRun starts a run, which has its own blocks, and returns when it began.
func (r *Recorder) startRun(isOpen bool) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isOpen = isOpen
	r.firstBlock = len(r.blocks)
	r.runStart = r.Now()
	r.generator.cpuAtStart = cpuTime()
	r.recent = window{began: r.runStart}
	return r.runStart
}

// finishRun ends a run. It counts the run as lasting minDuration at least: in the open model, no
// call may be planned near the end.
func (r *Recorder) finishRun(minDuration time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.earlierRuns += max(r.Now().Sub(r.runStart), minDuration)
	r.generator.cpu += cpuTime() - r.generator.cpuAtStart
}

// Calls returns the number of recorded calls.
func (r *Recorder) Calls() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// EndReason returns the reason why the run ended early, or "".
func (r *Recorder) EndReason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endReason
}

// acceptsFrom returns when the server accepts calls again after a requested pause.
func (r *Recorder) acceptsFrom() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resumeTime
}

// maxPause is the longest pause that a server may ask for before the run ends.
const maxPause = time.Minute

// add records a call and reports whether the run has to stop: too many calls failed, or the server
// asked for a pause that is too long.
func (r *Recorder) add(s Sample) bool {
	if s.Channel == "" { // the call was not made
		return false
	}
	r.samples.write(r.target, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.blockAt(s.Intended)
	b.channels[s.Channel]++
	r.calls++
	if s.Pause > 0 {
		r.generator.pauses++
		r.resumeTime = laterOf(r.resumeTime, s.End.Add(s.Pause))
	}
	// The time of another failure says nothing about how fast the server responds.
	if s.Channel == OK || s.Channel == Timeout {
		if r.isOpen {
			b.response.add(s.response())
		}
		b.service.add(s.service())
	}
	if s.Channel == Timeout {
		r.minTimeout.include(s)
	}
	if s.Channel == OK {
		for _, stage := range s.Stages {
			if r.stages[stage.Name] == nil {
				r.stages[stage.Name] = counts{}
			}
			r.stages[stage.Name].add(stage.Took)
		}
	} else {
		r.failed++
	}
	if r.Observe != nil && s.End.Sub(r.lastObserved) >= observeEvery {
		r.lastObserved = s.End
		r.Observe(r.calls, r.failed)
	}
	if r.recent.countCall(s.End, s.Channel != OK) {
		r.endReason = fmt.Sprintf("more than half of the calls failed for %d s", failingSeconds)
	} else if s.Pause > maxPause {
		r.endReason = "the server asked for a pause of " + s.Pause.Round(time.Second).String()
	}
	return r.endReason != ""
}

// include includes a call in the minimum.
func (l *minLatencies) include(s Sample) {
	response := roundToUnit(s.response())
	service := roundToUnit(s.service())
	if l.service == 0 { // the first
		*l = minLatencies{response: response, service: service}
	}
	l.response = min(l.response, response)
	l.service = min(l.service, service)
}

// blockAt returns the block of a planned start, and adds the blocks up to it. r.mu is locked.
func (r *Recorder) blockAt(start time.Time) *block {
	i := r.firstBlock + int(start.Sub(r.runStart)/blockTime)
	for len(r.blocks) <= i {
		r.blocks = append(r.blocks, block{response: counts{}, service: counts{}, channels: map[string]int64{}})
	}
	return &r.blocks[i]
}

// countGenerated lets count update the generator's numbers.
func (r *Recorder) countGenerated(count func(*generator)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count(&r.generator)
}

// Interrupt records that the user ended the run.
func (r *Recorder) Interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endReason == "" {
		r.endReason = Interrupted
	}
}

// Interrupted is the reason for a run that the user ended.
const Interrupted = "interrupted"

// failingSeconds is how long more than half of the calls may fail before the run ends.
const failingSeconds = 10

// A window counts the calls of the last seconds. Element i of its arrays has the calls that ended in
// the second s since began with s % failingSeconds == i.
type window struct {
	began time.Time
	// second is the newest second that the window has.
	second  int64
	all     [failingSeconds]int64 // all calls
	failing [failingSeconds]int64 // the calls that failed
}

// countCall counts a call and reports whether more than half of the calls in the whole window
// failed.
func (w *window) countCall(end time.Time, failed bool) bool {
	second := int64(end.Sub(w.began) / time.Second)
	// Forget the calls of the seconds that leave the window.
	for ; w.second < second; w.second++ {
		next := (w.second + 1) % failingSeconds
		w.all[next] = 0
		w.failing[next] = 0
	}
	current := max(second, 0) % failingSeconds // a clock may go backwards
	w.all[current]++
	if !failed {
		return false
	}
	w.failing[current]++
	var all, failing int64
	for i := range w.all {
		all += w.all[i]
		failing += w.failing[i]
	}
	isFull := second >= failingSeconds
	return isFull && 2*failing > all
}

// Samples writes a line of JSON for each call. A nil Samples writes nothing.
type Samples struct {
	mu    sync.Mutex
	w     io.Writer
	began time.Time
	err   error
}

// NewSamples returns a writer of samples whose times count from began.
func NewSamples(w io.Writer, began time.Time) *Samples { return &Samples{w: w, began: began} }

// write writes a sample as a line. It writes nothing after an error, which Err returns.
func (s *Samples) write(target string, sample Sample) {
	if s == nil {
		return
	}
	micros := func(t time.Time) float64 { return float64(t.Sub(s.began).Nanoseconds()) / 1000 }
	line, _ := json.Marshal(struct { // texts and finite numbers always marshal
		Target   string  `json:"target,omitempty"`
		Intended float64 `json:"intended_us"`
		Start    float64 `json:"start_us"`
		End      float64 `json:"end_us"`
		Channel  string  `json:"channel"`
	}{target, micros(sample.Intended), micros(sample.Start), micros(sample.End), sample.Channel})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		_, s.err = s.w.Write(append(line, '\n'))
	}
}

// Err returns the first write error.
func (s *Samples) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
