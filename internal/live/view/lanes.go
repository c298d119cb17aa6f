package view

import (
	"cmp"
	"context"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/live"
)

// maxBars limits the total of bars in all lanes. Beyond it, bars that begin close to each other are
// merged.
const maxBars = 2000

// Lanes returns the exchanges that a query selects and that overlap a time window, grouped by
// conversation. A zero time means no limit.
func (v *Views) Lanes(_ context.Context, q Query, from, to time.Time) ([]Lane, error) {
	var lanes []Lane
	index := map[live.Talk]int{}
	m := v.maker()
	count := 0
	var first, last time.Time
	err := v.eachRow(q, func(r *rows.Row) bool {
		bar := m.makeBar(r)
		if !to.IsZero() && bar.From.After(to) || bar.To.Before(from) {
			return true
		}
		talk := live.TalkOf(r)
		i, ok := index[talk]
		if !ok {
			i = len(lanes)
			index[talk] = i
			lanes = append(lanes, Lane{Talk: talkID(talk), Title: laneTitle(r)})
		}
		// The first rows of a conversation may not name both sides.
		if r.Client() != "" && r.Server() != "" {
			lanes[i].Title = laneTitle(r)
		}
		lanes[i].Bars = append(lanes[i].Bars, bar)
		count++
		if count == 1 || bar.From.Before(first) {
			first = bar.From
		}
		ended := bar.To
		if bar.State != stateDone { // an open exchange can last for hours
			ended = bar.From
		}
		last = later(last, ended)
		return true
	})
	if err != nil {
		return nil, err
	}
	first = later(first, from)
	if !to.IsZero() {
		last = earlier(last, to)
	}
	// Each lane gets an equal share of maxBars.
	step := max(last.Sub(first)/maxBars*time.Duration(min(len(lanes), maxBars)), 1)
	for i := range lanes {
		if count > maxBars {
			lanes[i].Bars = mergeBars(lanes[i].Bars, step)
		}
		assignLevels(lanes[i].Bars)
	}
	// The JSON is [], not null.
	if lanes == nil {
		lanes = []Lane{}
	}
	return lanes, nil
}

// laneTitle names the conversation of a row.
func laneTitle(r *rows.Row) string {
	return bounded(cmp.Or(r.ClientName(), r.By)) + " → " + bounded(cmp.Or(r.ServerName(), r.Target))
}

// makeBar returns a row as a single Bar.
func (m maker) makeBar(r *rows.Row) Bar {
	row := m.makeRow(live.KeyOf(r), r)
	return Bar{
		Key: row.Key, From: r.Time, To: r.Time.Add(seconds(row.Seconds)), Label: titleOf(r),
		Channel: r.Channel, State: row.State, Failed: row.Failed, Phases: row.Phases, Times: 1,
	}
}

// titleOf returns the shortest name of a request: the tool, or the method and name.
func titleOf(r *rows.Row) string {
	if r.Method == "tools/call" && r.Name != "" {
		return bounded(r.Name)
	}
	return bounded(strings.TrimSpace(r.Method + " " + r.Name))
}

// mergeBars merges bars that begin within step of each other. A merged bar has the worst outcome of
// its bars.
func mergeBars(bars []Bar, step time.Duration) []Bar {
	var out []Bar
	for _, b := range bars {
		n := len(out)
		if n == 0 || b.From.Sub(out[n-1].From) >= step {
			out = append(out, b)
			continue
		}
		last := &out[n-1]
		last.Times++
		last.To = later(last.To, b.To)
		last.Phases = nil
		if last.Label != b.Label {
			last.Label = "several"
		}
		if b.Failed && !last.Failed || last.Channel == exchange.ChannelOK { // the worse of the two
			last.Channel = b.Channel
		}
		last.Failed = last.Failed || b.Failed
		if last.State == stateDone {
			last.State = b.State
		}
	}
	return out
}

// assignLevels gives bars that overlap in time different levels, each the lowest free one.
func assignLevels(bars []Bar) {
	var free []time.Time // when the last bar of each level ends
	for i := range bars {
		level := 0
		for level < len(free) && free[level].After(bars[i].From) {
			level++
		}
		if level == len(free) {
			free = append(free, time.Time{})
		}
		free[level] = bars[i].To
		bars[i].Level = level
	}
}
