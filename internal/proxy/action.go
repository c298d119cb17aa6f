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

// A Link is a set of ways to connect client and server: the ways an action works over, or the way
// of a Desk.
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

// An ActionName is the name of an action in rules.
type ActionName string

const (
	actionDelay            ActionName = "delay"
	actionThrottle         ActionName = "throttle"
	actionStatus           ActionName = "status"
	actionUnauthorized     ActionName = "401"
	actionExpireSession    ActionName = "expire-session"
	actionRPCError         ActionName = "rpc"
	actionToolError        ActionName = "tool-error"
	actionDropRequest      ActionName = "drop request"
	actionDropResponse     ActionName = "drop response"
	actionDropNotification ActionName = "drop notification"
	actionDuplicate        ActionName = "duplicate"
	actionReorder          ActionName = "reorder"
	actionCut              ActionName = "cut"
	actionHang             ActionName = "hang"
	actionStall            ActionName = "stall"
	actionSlowLoris        ActionName = "slow-loris"
	actionReplace          ActionName = "replace"
	actionHeader           ActionName = "header"
	actionTruncate         ActionName = "truncate"
	actionGarbage          ActionName = "garbage"
	actionBadUTF8          ActionName = "bad-utf8"
	actionBanner           ActionName = "banner"
	actionTTL              ActionName = "ttl"
	actionListChanged      ActionName = "list-changed"
	actionKillChild        ActionName = "kill child"
)

// An Action is what a rule does to a message.
type Action struct {
	Name ActionName
	kind *actionKind
	// Wait is the time of delay, stall and slow-loris. Jitter is the largest difference from Wait that
	// delay draws.
	Wait, Jitter time.Duration
	// N is a status, an error code, a number of bytes, events or messages, or bytes per second.
	N int64
	// Events is set for a cut after N events. Reset makes a cut reset the connection.
	Events, Reset bool
	// Text is the text of an error, a banner, a replacement, a Retry-After or the name of a list. Data
	// is the JSON data of an rpc error, or "".
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
	name       ActionName
	parameters string // as a user writes them after the name
	// description says to users what the action does.
	description string
	link        Link
	messages    messageSet // the messages the action applies to
	// read reads the parameters; nil if the action has no parameters.
	read func(w *ruleScanner, a *Action) error
}

// An ActionUsage is a row of the reference: an action with its parameters, and its description.
type ActionUsage struct{ Form, Does string }

// Actions returns the reference of all actions, for the help page.
func Actions() []ActionUsage {
	var rows []ActionUsage
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
		rows = append(rows, ActionUsage{strings.TrimSpace(string(k.name) + " " + k.parameters), description})
	}
	return rows
}

var actionKinds = []actionKind{
	{
		name:        actionDelay,
		parameters:  "TIME [+-TIME]",
		description: "delay the response or message by TIME; +-TIME makes the delay random",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | notificationsSent | withoutMessage | fromServer,
		read:        readDelay,
	},
	{
		name:        actionThrottle,
		parameters:  "SIZE/s",
		description: "limit the response to SIZE per second, such as 10kb/s",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | withoutMessage,
		read:        readThrottle,
	},
	{
		name:        actionStatus,
		parameters:  "CODE [retry-after SECONDS]",
		description: "respond with this status; the request is not forwarded",
		link:        LinkHTTP,
		messages:    requestsSent | notificationsSent | withoutMessage,
		read:        readStatus,
	},
	{
		name:        actionUnauthorized,
		description: "respond that the token is invalid; the request is not forwarded",
		link:        LinkHTTP,
		messages:    requestsSent | notificationsSent | withoutMessage,
	},
	{
		name:        actionExpireSession,
		description: "respond with 404 to this and every later request of the session",
		link:        LinkHTTP,
		messages:    requestsSent | notificationsSent | withoutMessage,
	},
	{
		name:        actionRPCError,
		parameters:  `CODE ["MESSAGE"] [DATA]`,
		description: "respond with a JSON-RPC error; the request is not forwarded",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent,
		read:        readRPC,
	},
	{
		name:        actionToolError,
		parameters:  "TEXT",
		description: "respond to a tool call with isError; the call is not forwarded",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent,
		read:        readText,
	},
	{
		name:        actionDropRequest,
		description: "do not forward the request; the client receives no response",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent,
	},
	{
		name:        actionDropResponse,
		description: "forward everything except the response",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent,
	},
	{
		name:        actionDropNotification,
		description: "do not forward a notification of the client or the server",
		link:        LinkHTTP | LinkStdio,
		messages:    notificationsSent | fromServer,
	},
	{
		name:        actionDuplicate,
		description: "send the response or message twice",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | fromServer,
	},
	{
		name:        actionReorder,
		parameters:  "N",
		description: "send the message after N later ones, over stdio within 2s; HTTP: the first message of a stream",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | fromServer,
		read:        readCount,
	},
	{
		name:        actionCut,
		parameters:  "after N bytes|after event N [fin|rst]",
		description: "close the connection after N bytes of the response (0: before its head), or N events (HTTP)",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | withoutMessage,
		read:        readCut,
	},
	{
		name:        actionHang,
		description: "forward the request and send nothing of the response; stdio: nothing more at all",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | withoutMessage,
	},
	{
		name:        actionStall,
		parameters:  "TIME",
		description: "pause for TIME after the first bytes of the response",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | withoutMessage,
		read:        readWait,
	},
	{
		name:        actionSlowLoris,
		parameters:  "[TIME]",
		description: "send the response byte by byte, with TIME between two bytes (default 1s)",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | withoutMessage,
		read:        readLoris,
	},
	{
		name:        actionReplace,
		parameters:  "PATH [VALUE] [keep-headers]",
		description: "set the value at PATH; without VALUE, delete it",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | notificationsSent | fromServer,
		read:        readReplace,
	},
	{
		name:        actionHeader,
		parameters:  "[request] NAME: [VALUE]",
		description: "set a header field of the response or the request; without VALUE, delete it",
		link:        LinkHTTP,
		messages:    requestsSent | notificationsSent | withoutMessage,
		read:        readHeader,
	},
	{
		name:        actionTruncate,
		parameters:  "N",
		description: "send only the first N bytes of the response or message",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | fromServer,
		read:        readCount,
	},
	{
		name:        actionGarbage,
		parameters:  "N",
		description: "send N random bytes in place of the response or message",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | fromServer,
		read:        readCount,
	},
	{
		name:        actionBadUTF8,
		description: "insert an invalid byte into a text of the response or message",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | fromServer,
	},
	{
		name:        actionBanner,
		parameters:  "TEXT",
		description: "write TEXT as a line to stdout before the response",
		link:        LinkStdio,
		messages:    requestsSent,
		read:        readText,
	},
	{
		name:        actionTTL,
		parameters:  "N",
		description: "set ttlMs of the result to N",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent,
		read:        readCount,
	},
	{
		name:        actionListChanged,
		parameters:  "[tools|prompts|resources]",
		description: "notify the client that the list has changed (default: tools)",
		link:        LinkHTTP | LinkStdio,
		messages:    requestsSent | withoutMessage,
		read:        readList,
	},
	{
		name:        actionKillChild,
		description: "kill the server instead of forwarding the message",
		link:        LinkChild,
		messages:    requestsSent | notificationsSent,
	},
}

// parseAction reads the action after "do" with its parameters, up to the end of the rule. All its
// errors are *RuleError.
func parseAction(w *ruleScanner) (Action, error) {
	name := w.next()
	offset := w.wordOffset
	if name == "drop" || name == "kill" { // names of two words
		name += " " + w.next()
	}
	i := slices.IndexFunc(actionKinds, func(k actionKind) bool { return string(k.name) == name })
	if i < 0 {
		var known []string
		for _, k := range actionKinds {
			known = append(known, string(k.name))
		}
		return Action{}, w.errorAt(offset, "unknown action "+quoteWord(name)+suggestion(name, known))
	}
	a := Action{Name: actionKinds[i].name, kind: &actionKinds[i]}
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
	name := string(a.Name)
	switch a.kind.link {
	case LinkHTTP:
		return name + " needs HTTP: over stdio use rpc, cut, hang or drop"
	case LinkStdio:
		return name + " needs stdio: it is about the lines of stdout"
	}
	return name + " needs mcpc tap, which runs the server"
}

// readDelay reads TIME [+-TIME].
func readDelay(w *ruleScanner, a *Action) error {
	var err error
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

// readThrottle reads SIZE/s. The limit lets a size be an int on all systems.
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
func readStatus(w *ruleScanner, a *Action) error {
	code, err := w.number("status")
	if err != nil {
		return err
	}
	if code < 200 || code > 599 {
		return w.errorHere("status takes a code from 200 to 599")
	}
	a.N = code
	if w.peek() == "retry-after" {
		w.next()
		seconds, err := w.number("retry-after")
		if err != nil {
			return err
		}
		a.Text = strconv.FormatInt(seconds, 10) // the value of Retry-After
	}
	return nil
}

// readRPC reads CODE ["MESSAGE"] [DATA]. Without MESSAGE the error has a text that names its
// origin.
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
			return w.errorHere("the message is not a text in quotes")
		}
	}
	a.Data = w.rest()
	if a.Data != "" && jsonraw.Valid([]byte(a.Data)) != nil {
		return w.errorHere("the data must be JSON, and the message in quotes")
	}
	return nil
}

// readText reads a TEXT up to the end of the rule.
func readText(w *ruleScanner, a *Action) error {
	var err error
	a.Text, err = w.textToEnd()
	return err
}

// readCount reads N.
func readCount(w *ruleScanner, a *Action) error {
	n, err := w.number(string(a.Name))
	if err != nil {
		return err
	}
	if n > maxOutput {
		return w.errorHere(string(a.Name) + " takes a number up to 67108864") // maxOutput
	}
	a.N = n
	return nil
}

// readCut reads "after N bytes" or "after event N", and [fin|rst]; fin is the default.
func readCut(w *ruleScanner, a *Action) error {
	if w.next() != "after" {
		return w.errorHere("cut takes: after N bytes, or after event N")
	}
	a.Events = w.peek() == "event"
	if a.Events {
		w.next()
	}
	var err error
	a.N, err = w.number("cut")
	if err != nil {
		return err
	}
	if !a.Events {
		if unit := w.next(); unit != "bytes" && unit != "byte" {
			return w.errorHere("cut takes: after N bytes, or after event N")
		}
	}
	if ending := w.peek(); ending == "fin" || ending == "rst" {
		w.next()
		a.Reset = ending == "rst"
	}
	return nil
}

// readWait reads TIME.
func readWait(w *ruleScanner, a *Action) error {
	var err error
	a.Wait, err = w.duration(string(a.Name))
	return err
}

// readLoris reads [TIME], by default one second.
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
	// A control character could end the field and begin another one.
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
	// Only requests and notifications have these members, only responses the others.
	a.OfRequest = len(path) > 0 && (path[0].Name == "params" || path[0].Name == "method")
	// keep-headers comes after VALUE, which may contain blanks.
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
