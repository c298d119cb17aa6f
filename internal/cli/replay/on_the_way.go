package replay

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/wire"
)

// A Question is a request of the server during a client's request: a message of its own, or an
// input request in a result.
type Question struct {
	// Key identifies an input request within its result; "" for a message of its own.
	Key, Method string
	Params      json.RawMessage
	// Answer is the client's result, nil if there is none.
	Answer json.RawMessage
	// isGuessed is set if the question is only assumed to belong to the request.
	isGuessed bool
}

// Questions returns the questions of an exchange in order, each once.
func Questions(x *wire.Exchange) []Question { return questions(x, false) }

// questions returns the questions of an exchange in order, each once, with the client's answers; nil
// for a nil exchange. If includeOtherStreams is set, it includes requests of the server that arrived
// over HTTP on a different stream meanwhile.
func questions(x *wire.Exchange, includeOtherStreams bool) []Question {
	if x == nil {
		return nil
	}
	var unanswered []int // input requests that were not answered yet
	ids := []string{}    // of the server's own requests, by question; "" for others
	var all []Question
	for _, f := range append(slices.Clone(x.OtherMessages), x.Response) {
		if f.Raw == nil {
			continue
		}
		m := wire.ParseMessage(f.Raw)
		switch {
		case m.Kind == wire.Request && f.Dir == wire.Received:
			if isOnOtherStream(x, f) && !includeOtherStreams {
				continue
			}
			all = append(all, Question{Method: m.Method, Params: m.Params, isGuessed: x.IsGuess(f)})
			ids = append(ids, string(m.ID))
		case m.Kind == wire.Response && f.Dir == wire.Received:
			requests, _ := jsonraw.Object(jsonraw.First(m.Result, "inputRequests"))
			for _, r := range requests {
				method, _ := jsonraw.Text(jsonraw.First(r.Value, "method"))
				unanswered = append(unanswered, len(all))
				all = append(all, Question{Key: r.Name, Method: method, Params: jsonraw.First(r.Value, "params")})
				ids = append(ids, "")
			}
		case f.Dir == wire.Sent && m.Kind == wire.Response:
			if index := slices.Index(ids, string(m.ID)); index >= 0 {
				all[index].Answer = m.Result
			}
		case f.Dir == wire.Sent && m.Kind == wire.Request: // the request again, with answers to input requests
			answers := jsonraw.First(m.Params, "inputResponses")
			for _, index := range unanswered {
				all[index].Answer = jsonraw.First(answers, all[index].Key)
			}
			if answers != nil {
				unanswered = nil
			}
		}
	}
	return all
}

// compareServerRequests compares the requests of the server, except roots/list, which a server may
// send at any time and once for all requests. On a pipe, no message says which request a server
// request belongs to; over HTTP, the stream does. If only one side is on a pipe, a question that
// may belong to a different request makes no difference if the other side lacks it.
func (r *Report) compareServerRequests(recorded, current Side, c match.Comparison, level Level) {
	isRootsList := func(q Question) bool { return q.Method == "roots/list" }
	transportsDiffer := isOnPipe(recorded.Exchange) != isOnPipe(current.Exchange)
	a := slices.DeleteFunc(questions(recorded.Exchange, transportsDiffer), isRootsList)
	b := slices.DeleteFunc(questions(current.Exchange, transportsDiffer), isRootsList)
	c.Part = match.Params
	c.Name = ""
	c.HiddenUnknown = true
	for i := range max(len(a), len(b)) {
		isGuessOfOneSide := i >= len(a) && b[i].isGuessed || i >= len(b) && a[i].isGuessed
		switch {
		case transportsDiffer && isGuessOfOneSide: // no difference
		case i >= len(a):
			r.addDifference("server request", nil, jsonraw.Quote(b[i].Method), match.Added)
		case i >= len(b):
			r.addDifference("server request", jsonraw.Quote(a[i].Method), nil, match.Removed)
		case a[i].Method != b[i].Method:
			r.addDifference("server request", jsonraw.Quote(a[i].Method), jsonraw.Quote(b[i].Method), match.Changed)
		default:
			c.Method = a[i].Method
			r.mergePart(a[i].Method, match.Compare(a[i].Params, b[i].Params, c), level)
		}
	}
}

// isOnPipe reports whether an exchange was made over stdio.
func isOnPipe(x *wire.Exchange) bool { return x != nil && x.Request.Stream == 0 }

// addDifference adds a difference.
func (r *Report) addDifference(path string, recorded, current json.RawMessage, how match.How) {
	r.Differences = append(r.Differences, match.Difference{Path: path, Was: recorded, Is: current, How: how})
}

// aboutRequest are the notifications that belong to a request. All others may arrive at any time.
var aboutRequest = []string{"notifications/progress", "notifications/message"}

// compareNotifications adds a difference if the notifications of two exchanges differ: all of them in
// order for InOrder, their kinds and the range of the progress for Kinds.
func (r *Report) compareNotifications(recorded, current *wire.Exchange, mode Notifications) {
	includeLogs := mode == InOrder || comparesLogs(recorded, current)
	recordedTexts := notificationTexts(recorded, includeLogs)
	currentTexts := notificationTexts(current, includeLogs)
	if mode == Kinds {
		recordedTexts = summarizeKinds(recordedTexts)
		currentTexts = summarizeKinds(currentTexts)
	}
	if !slices.Equal(recordedTexts, currentTexts) {
		list := func(texts []string) json.RawMessage { return jsonraw.Quote(strings.Join(texts, ", ")) }
		r.addDifference("notifications", list(recordedTexts), list(currentTexts), match.Changed)
	}
}

// isOnOtherStream reports whether a message arrived over HTTP on a different stream than its
// request's. Such a message may arrive at any time.
func isOnOtherStream(x *wire.Exchange, f wire.Frame) bool { return f.Stream != 0 && x.IsGuess(f) }

// SameNotifications reports whether two exchanges have the same kinds of notifications.
func SameNotifications(recorded, current *wire.Exchange) bool {
	logs := comparesLogs(recorded, current)
	a := summarizeKinds(notificationTexts(recorded, logs))
	b := summarizeKinds(notificationTexts(current, logs))
	return slices.Equal(a, b)
}

// comparesLogs reports whether log messages are compared. On a pipe, they name no request and may
// belong to any.
func comparesLogs(recorded, current *wire.Exchange) bool {
	return recorded != nil && current != nil && recorded.Request.Stream != 0 && current.Request.Stream != 0
}

// notificationTexts returns the notifications of an exchange in order, as texts such as "progress 3"
// or "message info". It leaves out log messages unless includeLogs is set, and notifications that may
// belong to another request.
func notificationTexts(x *wire.Exchange, includeLogs bool) []string {
	if x == nil {
		return nil
	}
	var all []string
	for _, f := range x.OtherMessages {
		m := wire.ParseMessage(f.Raw)
		if m.Kind != wire.Notification || f.Dir != wire.Received || !slices.Contains(aboutRequest, m.Method) {
			continue
		}
		if isOnOtherStream(x, f) || !includeLogs && m.Method == "notifications/message" {
			continue
		}
		text := strings.TrimPrefix(m.Method, "notifications/")
		if m.Method == "notifications/progress" {
			text += " " + string(bytes.TrimSpace(jsonraw.First(m.Params, "progress")))
		} else if level, ok := jsonraw.Text(jsonraw.First(m.Params, "level")); ok {
			text += " " + level
		}
		all = append(all, text)
	}
	return all
}

// summarizeKinds reduces notifications to their set, the first and the last progress, and whether
// the progress ever fell.
func summarizeKinds(texts []string) []string {
	var progress []string
	var kinds []string
	for _, text := range texts {
		if value, ok := strings.CutPrefix(text, "progress "); ok {
			progress = append(progress, value)
		} else if !slices.Contains(kinds, text) {
			kinds = append(kinds, text)
		}
	}
	slices.Sort(kinds)
	if len(progress) == 0 {
		return kinds
	}
	text := "progress " + progress[0] + " to " + progress[len(progress)-1]
	for i := range progress[1:] {
		if isLess(progress[i+1], progress[i]) {
			text += ", not rising"
			break
		}
	}
	return append([]string{text}, kinds...)
}

// isLess reports whether a is less than b, as JSON numbers. It returns false if one is not a number.
func isLess(a, b string) bool {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	return errA == nil && errB == nil && x < y
}
