package view

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/live"
	"mcpc/internal/wire"
)

// maxStreams limits a list of streams to the newest: listing reads their frames.
const maxStreams = 200

// Streams returns the streams, subscriptions and interrupted responses among the rows that a query
// selects, the newest first. A response is interrupted if it was cut, resumed or is still open.
func (v *Views) Streams(_ context.Context, q Query) ([]Stream, error) {
	var keys []live.Key
	err := v.eachRow(q, func(r *rows.Row) bool {
		if isStream(r) {
			keys = append(keys, live.KeyOf(r))
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	keys = keys[max(0, len(keys)-maxStreams):]
	slices.Reverse(keys)
	out := []Stream{}
	m := v.maker()
	v.store.Look(keys, func(i int, r *rows.Row) {
		if r == nil || err != nil {
			return
		}
		var s Stream
		s, err = m.makeStream(keys[i], r)
		if err == nil {
			out = append(out, s)
		}
	})
	return out, err
}

// isStream reports whether a row belongs in the list of streams.
func isStream(r *rows.Row) bool {
	if r.Dir == wire.Received && !r.IsSeparate {
		return false
	}
	if r.Method == rows.MethodStream || r.HasLostResponse() || isSubscription(r) {
		return true
	}
	if r.Notes.Cuts+r.Notes.Resumed > 0 { // no stream began if the server was not reached
		return r.Status > 0 || !wire.SaysUnreached(r.Text)
	}
	return r.IsOpen() && r.Kinds.Has(wire.Event)
}

func isSubscription(r *rows.Row) bool { return strings.HasPrefix(r.Method, "subscriptions/") }

// makeStream returns a row as a Stream. For a row that is too large to be read, only Open and a
// text say so.
func (m maker) makeStream(key live.Key, r *rows.Row) (Stream, error) {
	out := Stream{Row: key.String(), Client: bounded(r.Client()), Server: bounded(r.Server()), Opened: r.Time, What: "GET"}
	if isSubscription(r) {
		out.What = "subscription"
	} else if !r.IsSeparate {
		out.IsResponse = true
		out.Method = r.Method
		out.Name = r.Name
		out.What = "response to " + strings.TrimSpace(r.Method+" "+r.Name)
	}
	x, err := readExchange(r, maxBytes)
	if large, ok := errors.AsType[*largeError](err); ok {
		out.Open = m.v.waits(r)
		out.Text = large.Error()
		return out, nil
	} else if err != nil {
		return out, err
	}
	story := storyOf(x)
	waits := m.v.waits(r)
	out.Open = waits
	out.Events = story.Events
	out.LastID = story.Last
	out.Problem = len(story.Cuts) > 0
	// A separate stream has no response to wait for: it is open until it is closed or its run ends.
	if r.IsSeparate {
		out.Open = !m.v.File && !r.IsRunOver() && !story.Ended
	}
	if out.Open {
		out.Quiet = max(m.now.Sub(r.LastFrameTime()), 0).Seconds()
	}
	out.Text = story.Text(r.IsSeparate || isSubscription(r), waits || out.Open)
	switch {
	case out.Text != "":
		// The text is about the last cut.
		out.Problem = !story.Cuts[len(story.Cuts)-1].Lossless() || !r.IsSeparate && !story.Complete
	case r.Cancel != nil:
		out.Text = cancelWords(r)
	case out.Open:
		out.Text = "open"
	case r.Failed():
		out.Text = outcomeWords(r)
		out.Problem = true
	default:
		out.Text = "ended"
	}
	return out, nil
}
