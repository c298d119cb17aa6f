package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// A Recorder keeps what calls took, in blocks of a second. Its methods may be called from
// several goroutines.
type Recorder struct {
	Clock
	// Observe is called a few times in a second with what was measured so far; it may be nil.
	Observe func(calls, failed int64)
	// samples takes a line for each call, of a target; it may be nil.
	samples *Samples
	target  string

	mu sync.Mutex
	// open is set in the open model, in which there are response times.
	open bool
	// base is the first block of the run that began last, since when it began, and took how long the runs before it
	// lasted.
	base  int
	since time.Time
	took  time.Duration
	// calls and failed are the calls so far, observed when they were shown last.
	calls, failed int64
	observed      time.Time
	blocks        []block
	stages        map[string]counts
	gen           generator
	// leastTimeout is the shortest time after which a call was given up; 0 if none was.
	leastTimeout latencies
	// recent are the calls that ended lately.
	recent window
	// ended says why the run was ended early; "" is that it was not. resumes is when the
	// server takes calls again.
	ended   string
	resumes time.Time
}

// latencies are the two times of a call, in the unit of counts.
type latencies struct{ response, service int64 }

// generator is how well the calls were generated. missed are the planned calls that could not be sent in
// time, held those that were not sent because the server asked for a pause, waited those that waited for a
// place in flight.
type generator struct {
	lag           counts
	missed, held  int64
	waited        int64
	pauses        int64
	cpu, cpuBegan time.Duration
}

// A block has the calls that were planned to start in a second.
type block struct {
	response, service counts
	channels          map[string]int64
}

// A Clock is what calls are timed with. Sleep may return early; it returns an error once ctx is
// done.
type Clock struct {
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// NewRecorder makes a Recorder for one target, with the clock of its calls. samples may be nil.
func NewRecorder(clock Clock, samples *Samples, target string) *Recorder {
	return &Recorder{
		Clock:   clock,
		samples: samples,
		target:  target,
		stages:  map[string]counts{},
		gen:     generator{lag: counts{}},
	}
}

const (
	blockTime    = time.Second
	observeEvery = 100 * time.Millisecond
)

// begin begins a segment, whose blocks are its own.
func (r *Recorder) begin(open bool) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open, r.base, r.since, r.gen.cpuBegan = open, len(r.blocks), r.Now(), cpuTime()
	r.recent = window{began: r.since}
	return r.since
}

// finish ends a segment that lasted at least for a time.
func (r *Recorder) finish(least time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took += max(r.Now().Sub(r.since), least)
	r.gen.cpu += cpuTime() - r.gen.cpuBegan
}

// Calls is how many calls were recorded.
func (r *Recorder) Calls() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// Ended says why the run was ended early; "" is that it was not.
func (r *Recorder) Ended() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

func (r *Recorder) resumesAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resumes
}

// longestPause is how long a server may ask to be sent nothing before the run ends.
const longestPause = time.Minute

// add records a call, and reports that the run is to stop.
func (r *Recorder) add(s Sample) (stop bool) {
	if s.Channel == "" {
		return false
	}
	r.samples.write(r.target, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.block(s.Intended)
	b.channels[s.Channel]++
	r.calls++
	if s.Pause > 0 {
		r.gen.pauses++
		r.resumes = later(r.resumes, s.End.Add(s.Pause))
	}
	if s.Channel == OK || s.Channel == Timeout {
		if r.open {
			b.response.add(s.response())
		}
		b.service.add(s.service())
	}
	if s.Channel == Timeout {
		r.leastTimeout.add(s)
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
	if r.Observe != nil && s.End.Sub(r.observed) >= observeEvery {
		r.observed = s.End
		r.Observe(r.calls, r.failed)
	}
	if r.recent.isFailing(s.End, s.Channel != OK) {
		r.ended = fmt.Sprintf("more than half of the calls failed for %d s", failingFor)
	} else if s.Pause > longestPause {
		r.ended = "the server asked for a pause of " + s.Pause.Round(time.Second).String()
	}
	return r.ended != ""
}

// add includes a call that timed out in the minimum.
func (l *latencies) add(s Sample) {
	response := toUnit(s.response())
	service := toUnit(s.service())
	if l.service == 0 {
		*l = latencies{response, service}
	}
	l.response = min(l.response, response)
	l.service = min(l.service, service)
}

// block is the one of a time.
func (r *Recorder) block(at time.Time) *block {
	i := r.base + int(at.Sub(r.since)/blockTime)
	for len(r.blocks) <= i {
		r.blocks = append(r.blocks, block{counts{}, counts{}, map[string]int64{}})
	}
	return &r.blocks[i]
}

// note counts how well calls are generated.
func (r *Recorder) note(count func(*generator)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count(&r.gen)
}

// Interrupt notes that the run was ended by the user.
func (r *Recorder) Interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == "" {
		r.ended = Interrupted
	}
}

// Interrupted is why a run ended that the user ended.
const Interrupted = "interrupted"

// failingFor is how long more than half of the calls may fail.
const failingFor = 10

// A window counts the calls of the last seconds.
type window struct {
	began   time.Time
	second  int64
	all     [failingFor]int64
	failing [failingFor]int64
}

// isFailing counts a call, and reports that more than half of the calls failed in the whole
// window.
func (w *window) isFailing(end time.Time, failed bool) bool {
	second := int64(end.Sub(w.began) / time.Second)
	for ; w.second < second; w.second++ {
		next := (w.second + 1) % failingFor
		w.all[next] = 0
		w.failing[next] = 0
	}
	at := max(second, 0) % failingFor
	w.all[at]++
	if !failed {
		return false
	}
	w.failing[at]++
	var all, failing int64
	for i := range w.all {
		all += w.all[i]
		failing += w.failing[i]
	}
	return second >= failingFor && 2*failing > all
}

// Samples writes a line of JSON for each call. A nil one writes nothing.
type Samples struct {
	mu    sync.Mutex
	w     io.Writer
	began time.Time
	err   error
}

// NewSamples makes one whose times count from began.
func NewSamples(w io.Writer, began time.Time) *Samples { return &Samples{w: w, began: began} }

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

// Err is the first failure to write.
func (s *Samples) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
