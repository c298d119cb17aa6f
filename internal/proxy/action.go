package proxy

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
)

// A Link is a set of ways in which client and server are connected: the ways an action works over,
// or the way of a Desk.
type Link uint8

// LinkHTTP and LinkStdio are the transports.
const (
	LinkHTTP Link = 1 << iota
	LinkStdio
	LinkChild // mcpc has started the server for the client
)

// A messageSet is a set of kinds of messages.
type messageSet uint8

const (
	requestsSent      messageSet = 1 << iota // the client's requests
	notificationsSent                        // the client's notifications and responses
	withoutMessage                           // HTTP requests without a message: GET, DELETE
	fromServer                               // the server's notifications and requests
)

// An Action is what a rule does to a message.
type Action struct {
	// Name is the name in rules, such as "delay" or "drop response".
	Name string
	kind *actionKind
	// Wait is the time of delay, stall and slow-loris, Jitter that of delay.
	Wait, Jitter time.Duration
	// N is a status, an error code, a number of bytes, events or messages, or bytes per second.
	N int64
	// Events is set for a cut after N events. Reset resets the connection.
	Events, Reset bool
	// Text is the text of an invented message, a replacement, a Retry-After or the name of a list.
	// Data is the data of an rpc error.
	Text, Data string
	// Path is the place that replace changes.
	Path jsonvalue.Path
	// OfRequest is set if the action changes the request, not the response.
	OfRequest bool
	// KeepHeaders leaves the header fields that repeat a replaced value unchanged.
	KeepHeaders bool
	// Field is the header field that header sets.
	Field wire.Field
}

// An actionKind is an action without its parameters.
type actionKind struct {
	name, parameters, description string
	link                          Link
	messages                      messageSet // the messages the action applies to
	read                          func(w *ruleScanner, a *Action) error
}

// ActionUsage is a row of the reference: an action with its parameters, and its description.
type ActionUsage struct{ Form, Does string }

// Actions returns the reference of all actions, for the help page.
func Actions() (rows []ActionUsage) {
	for _, k := range actionKinds {
		description := k.description
		switch k.link {
		case LinkHTTP:
			description = "HTTP: " + description
		case LinkStdio:
			description = "stdio: " + description
		case LinkChild:
			description = "tap: " + description
		}
		rows = append(rows, ActionUsage{strings.TrimSpace(k.name + " " + k.parameters), description})
	}
	return rows
}

var actionKinds = []actionKind{
	{
		"delay", "TIME [+-TIME]", "the response or the message comes later",
		LinkHTTP | LinkStdio, requestsSent | notificationsSent | withoutMessage | fromServer, readDelay,
	},
	{
		"throttle", "SIZE/s", "the response comes with so many bytes per second (10kb/s)",
		LinkHTTP | LinkStdio, requestsSent | withoutMessage, readThrottle,
	},
	{
		"status", "CODE [retry-after SECONDS]", "respond with this status; the server gets nothing",
		LinkHTTP, requestsSent | notificationsSent | withoutMessage, readStatus,
	},
	{
		"401", "", "respond that the token is invalid; the server gets nothing",
		LinkHTTP, requestsSent | notificationsSent | withoutMessage, nil,
	},
	{
		"expire-session", "", "404 for this and every later request of its session",
		LinkHTTP, requestsSent | notificationsSent | withoutMessage, nil,
	},
	{
		"rpc", `CODE ["MESSAGE"] [DATA]`, "respond with a JSON-RPC error; the server gets nothing",
		LinkHTTP | LinkStdio, requestsSent, readRPC,
	},
	{
		"tool-error", "TEXT", "respond to a tool call with isError; the server gets nothing",
		LinkHTTP | LinkStdio, requestsSent, readText,
	},
	{"drop request", "", "the server never gets it, and the client no response", LinkHTTP | LinkStdio, requestsSent, nil},
	{"drop response", "", "all comes but the response", LinkHTTP | LinkStdio, requestsSent, nil},
	{
		"drop notification", "", "a notification of either side is lost",
		LinkHTTP | LinkStdio, notificationsSent | fromServer, nil,
	},
	{"duplicate", "", "the response or the message comes twice", LinkHTTP | LinkStdio, requestsSent | fromServer, nil},
	{
		"reorder", "N", "it comes behind the next N messages, or after 2s; HTTP: the first message of its stream",
		LinkHTTP | LinkStdio, requestsSent | fromServer, readCount,
	},
	{
		"cut", "after N bytes|after event N [fin|rst]",
		"the connection ends after N bytes of the response (0: before its head), or N events (HTTP)",
		LinkHTTP | LinkStdio, requestsSent | withoutMessage, readCut,
	},
	{
		"hang", "", "the server gets it, and nothing of the response comes; stdio: nor of anything later",
		LinkHTTP | LinkStdio, requestsSent | withoutMessage, nil,
	},
	{
		"stall", "TIME", "the response stops for a while after its first piece",
		LinkHTTP | LinkStdio, requestsSent | withoutMessage, readWait,
	},
	{
		"slow-loris", "[TIME]", "the response comes byte by byte, with this time between (1s)",
		LinkHTTP | LinkStdio, requestsSent | withoutMessage, readLoris,
	},
	{
		"replace", "PATH [VALUE] [keep-headers]", "write VALUE at a path; none removes it",
		LinkHTTP | LinkStdio, requestsSent | notificationsSent | fromServer, readReplace,
	},
	{
		"header", "[request] NAME: [VALUE]", "set a header field of the response, or the request; none removes it",
		LinkHTTP, requestsSent | notificationsSent | withoutMessage, readHeader,
	},
	{
		"truncate", "N", "only the first N bytes of the response or message come",
		LinkHTTP | LinkStdio, requestsSent | fromServer, readCount,
	},
	{"garbage", "N", "N random bytes come instead of it", LinkHTTP | LinkStdio, requestsSent | fromServer, readCount},
	{"bad-utf8", "", "it has bytes that are no UTF-8", LinkHTTP | LinkStdio, requestsSent | fromServer, nil},
	{"banner", "TEXT", "a line on stdout before the response", LinkStdio, requestsSent, readText},
	{"ttl", "N", "the response has ttlMs N", LinkHTTP | LinkStdio, requestsSent, readCount},
	{
		"list-changed", "[tools|prompts|resources]", "the client is told that the list has changed",
		LinkHTTP | LinkStdio, requestsSent | withoutMessage, readList,
	},
	{"kill child", "", "the server is killed instead of getting it", LinkChild, requestsSent | notificationsSent, nil},
}

// parseAction reads the action after "do".
func parseAction(w *ruleScanner) (Action, error) {
	name := w.next()
	offset := w.wordOffset
	if name == "drop" || name == "kill" {
		name += " " + w.next()
	}
	i := slices.IndexFunc(actionKinds, func(k actionKind) bool { return k.name == name })
	if i < 0 {
		var known []string
		for _, k := range actionKinds {
			known = append(known, k.name)
		}
		return Action{}, w.errorAt(offset, "unknown action "+quoteWord(name)+suggestion(name, known))
	}
	a := Action{Name: name, kind: &actionKinds[i]}
	if read := a.kind.read; read != nil {
		if err := read(w, &a); err != nil {
			return a, err
		}
	}
	if word := w.next(); word != "" {
		form := strings.TrimSpace(name + " " + a.kind.parameters)
		return a, w.errorHere("nothing can follow " + form + ", but here is " + quoteWord(word))
	}
	return a, nil
}

// checkLink returns the reason why the action does not work over a link, or "".
func (a Action) checkLink(link Link) string {
	if a.Events && link&LinkHTTP == 0 {
		return "cut after event needs HTTP: over stdio use cut after N bytes"
	}
	if a.kind.link&link != 0 {
		return ""
	}
	switch a.kind.link {
	case LinkHTTP:
		return a.Name + " needs HTTP: over stdio use rpc, cut, hang or drop"
	case LinkStdio:
		return a.Name + " needs stdio: it is about the lines of stdout"
	}
	return a.Name + " needs mcpc tap, which runs the server"
}

// readDelay reads TIME [+-TIME].
func readDelay(w *ruleScanner, a *Action) (err error) {
	a.Wait, err = w.duration("delay")
	if err != nil {
		return err
	}
	if text, ok := strings.CutPrefix(w.peek(), "+-"); ok {
		w.next()
		a.Jitter, err = time.ParseDuration(text)
		if err != nil || a.Jitter < 0 || a.Jitter > a.Wait {
			return w.errorHere("+- takes a time that is not longer than the delay: +-500ms")
		}
	}
	return nil
}

// readThrottle reads SIZE/s.
func readThrottle(w *ruleScanner, a *Action) error {
	text, perSecond := strings.CutSuffix(strings.ToLower(w.next()), "/s")
	n, ok := filter.Size(text)
	a.N = n
	if !perSecond || !ok || n < 1 || n > math.MaxInt32 {
		return w.errorHere("throttle takes bytes per second: 10kb/s")
	}
	return nil
}

// readStatus reads CODE [retry-after SECONDS].
func readStatus(w *ruleScanner, a *Action) (err error) {
	a.N, err = w.number("status")
	if err == nil && (a.N < 200 || a.N > 599) {
		return w.errorHere("status takes a code from 200 to 599")
	}
	if err == nil && w.peek() == "retry-after" {
		w.next()
		var seconds int64
		seconds, err = w.number("retry-after")
		a.Text = strconv.FormatInt(seconds, 10)
	}
	return err
}

// readRPC reads CODE ["MESSAGE"] [DATA].
func readRPC(w *ruleScanner, a *Action) error {
	word := w.next()
	var err error
	a.N, err = strconv.ParseInt(word, 10, 64)
	if err != nil {
		return w.errorHere("rpc takes the code of an error: rpc -32603 \"boom\"")
	}
	a.Text = "made up by a fault rule"
	if strings.HasPrefix(w.peek(), `"`) {
		quoted := w.next()
		a.Text, err = strconv.Unquote(quoted)
		if err != nil {
			return w.errorHere("the message is no text in quotes")
		}
	}
	a.Data = w.rest()
	if a.Data != "" && jsonraw.Valid([]byte(a.Data)) != nil {
		return w.errorHere("the data must be JSON, and the message in quotes")
	}
	return nil
}

func readText(w *ruleScanner, a *Action) (err error) {
	a.Text, err = w.textToEnd()
	return err
}

func readCount(w *ruleScanner, a *Action) (err error) {
	a.N, err = w.number(a.Name)
	if err == nil && a.N > maxOutput {
		err = w.errorHere(a.Name + " takes a number up to 67108864")
	}
	return err
}

// readCut reads "after N bytes" or "after event N [fin|rst]".
func readCut(w *ruleScanner, a *Action) (err error) {
	if w.next() != "after" {
		return w.errorHere("cut takes: after N bytes, or after event N")
	}
	a.Events = w.peek() == "event"
	if a.Events {
		w.next()
	}
	a.N, err = w.number("cut")
	if err != nil {
		return err
	}
	if !a.Events {
		if unit := w.next(); unit != "bytes" && unit != "byte" {
			return w.errorHere("cut takes: after N bytes, or after event N")
		}
	}
	if how := w.peek(); how == "fin" || how == "rst" {
		a.Reset = w.next() == "rst"
	}
	return nil
}

func readWait(w *ruleScanner, a *Action) (err error) {
	a.Wait, err = w.duration(a.Name)
	return err
}

// readLoris reads a time, by default one second.
func readLoris(w *ruleScanner, a *Action) error {
	a.Wait = time.Second
	if w.peek() == "" {
		return nil
	}
	return readWait(w, a)
}

// readList reads the name of a list, by default tools.
func readList(w *ruleScanner, a *Action) error {
	a.Text = "tools"
	if list := w.next(); list != "" {
		a.Text = list
	}
	if !slices.Contains([]string{"tools", "prompts", "resources"}, a.Text) {
		return w.errorHere("list-changed takes tools, prompts or resources")
	}
	return nil
}

// readHeader reads [request] NAME: [VALUE].
func readHeader(w *ruleScanner, a *Action) error {
	a.OfRequest = w.peek() == "request"
	if a.OfRequest {
		w.next()
	}
	name, value, ok := strings.Cut(w.rest(), ":")
	value = strings.TrimSpace(value)
	if !ok || !wire.IsToken(name) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return w.errorHere("header takes NAME: VALUE")
	}
	a.Field = wire.Field{Name: name, Value: value}
	return nil
}

// readReplace reads PATH [VALUE] [keep-headers].
func readReplace(w *ruleScanner, a *Action) error {
	path, err := jsonvalue.ParsePath(w.next())
	if err != nil {
		return w.errorHere("invalid path: " + err.Error())
	}
	a.Path = path
	a.OfRequest = len(path) > 0 && (path[0].Name == "params" || path[0].Name == "method")
	value := w.rest()
	value, a.KeepHeaders = strings.CutSuffix(value, "keep-headers")
	if a.KeepHeaders {
		value = strings.TrimRight(value, " \t")
	}
	a.Text, err = expandValue(value)
	if err != nil {
		return w.errorHere(err.Error())
	}
	return nil
}
