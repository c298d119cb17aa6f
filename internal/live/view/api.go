package view

import (
	"context"
	"encoding/json"
	"time"

	"mcpc/internal/live"
)

// A Row is an exchange in a list. It has the members of a line of mcpc log --jsonl and some more
// for views.
type Row struct {
	Key    string    `json:"key"` // of live.Key
	Time   time.Time `json:"time"`
	Talk   string    `json:"talk"` // of Conversation.ID
	Client string    `json:"client,omitempty"`
	Server string    `json:"server,omitempty"`
	Target string    `json:"target"`
	Method string    `json:"method"`
	Name   string    `json:"name,omitempty"`
	ID     string    `json:"id,omitempty"`
	// Dir is "sent" from the client, "received" from the server.
	Dir string `json:"dir"`
	// State is "open", "asking" (the server waits for an answer to its request), "held" or "done".
	State   string `json:"state"`
	Channel string `json:"channel"`
	Failed  bool   `json:"failed,omitempty"`
	Status  int    `json:"http,omitempty"`
	Code    int64  `json:"code,omitempty"`
	// Seconds is the duration in seconds, until now for an open exchange. Quiet is the time since
	// the last frame of an open exchange.
	Seconds float64 `json:"seconds"`
	Quiet   float64 `json:"quiet,omitempty"`
	First   float64 `json:"firstByte,omitempty"`
	// Phases are the parts of the waterfall in their order.
	Phases   []Phase `json:"phases,omitempty"`
	Sent     int64   `json:"sent"`
	Received int64   `json:"received"`
	Tokens   int64   `json:"tokens"`
	Parent   string  `json:"parent,omitempty"`
	Guess    bool    `json:"guess,omitempty"`
	// Notes is a short text: "2 notifications, 1 retry".
	Notes    string `json:"notes,omitempty"`
	Findings int    `json:"findings,omitempty"`
	Text     string `json:"text,omitempty"`
	Again    string `json:"again,omitempty"`
	Mark     bool   `json:"mark,omitempty"`
	Note     string `json:"note,omitempty"`
	Edited   bool   `json:"edited,omitempty"`
	// Arguments is the beginning of the arguments of a call or a prompt. Only the rows of Talk, and of a
	// Query with WithArguments, have it.
	Arguments string `json:"arguments,omitempty"`
}

// A Query selects rows for a list: a filter, an order, and a part.
type Query struct {
	Filter string `json:"filter,omitempty"`
	Sort   string `json:"sort,omitempty"`
	Talk   string `json:"talk,omitempty"`
	// Only restricts the query to the given keys.
	Only []string `json:"only,omitempty"`
	// Keep is the key of a row that is selected even if it does not match Filter; "" means none.
	Keep string `json:"keep,omitempty"`
	// From is the index of the first row, negative from the end; Count is the number of rows.
	From  int `json:"from"`
	Count int `json:"count"`
	// WithArguments makes Rows read the requests, for Row.Arguments. A part then has at most 200 rows.
	WithArguments bool `json:"-"`
}

// A Page is a part of a list.
type Page struct {
	Rows    []Row  `json:"rows"`
	From    int    `json:"from"`
	Total   int    `json:"total"`
	Pending int    `json:"pending,omitempty"`
	Seq     uint64 `json:"seq"`
	// Absent is the reason why the conversation of the query has no rows; "" if it has some.
	Absent string `json:"absent,omitempty"`
	// Texts are the texts that the filter searches for in messages.
	Texts []string `json:"texts,omitempty"`
}

// A Conversation is an entry of the list of conversations.
type Conversation struct {
	ID       string    `json:"id"`
	Client   string    `json:"client"`
	Server   string    `json:"server"`
	Target   string    `json:"target"`
	By       string    `json:"by"`
	Revision string    `json:"protocol,omitempty"`
	Began    time.Time `json:"began"`
	Last     time.Time `json:"last"`
	Rows     int       `json:"rows"`
	Open     int       `json:"open"`
	Failed   int       `json:"failed"`
	Live     bool      `json:"live"`
	First    bool      `json:"first,omitempty"`
}

// A Block is an exchange in the Talk view: its row, and lines between client and server.
type Block struct {
	Row   Row    `json:"row"`
	Lines []Line `json:"lines"`
}

// A Detail has everything about one exchange except bytes of bodies beyond maxBody.
type Detail struct {
	Row      Row         `json:"row"`
	Facts    [][2]string `json:"facts"`
	Why      string      `json:"why,omitempty"`
	Cut      string      `json:"cut,omitempty"`
	Lines    []Line      `json:"lines"`
	Request  *Body       `json:"request,omitempty"`
	Response *Body       `json:"response,omitempty"`
	Frames   []Frame     `json:"frames"`
	Findings []Finding   `json:"findings,omitempty"`
	// InputSchema and OutputSchema are the schemas of the tool, if the conversation listed it.
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// App is the URI of the tool's page (MCP Apps), if it has one.
	App string `json:"app,omitempty"`
	// Wrong are the arguments that the input schema does not allow.
	Wrong []Wrong `json:"wrong,omitempty"`
	// Before is the key of the previous exchange with the same request.
	Before string `json:"before,omitempty"`
	// LastGood is the key of the last good exchange with the same request before this one, if this one failed.
	LastGood string `json:"lastGood,omitempty"`
	// Group compares the duration with the durations of exchanges with the same request.
	Group string `json:"group,omitempty"`
	// Stderr are the lines that the server wrote to stderr during the exchange.
	Stderr []string `json:"stderr,omitempty"`
}

// A Body is the text of a message, cut if it is long. Bytes is its full size. Hex is true if Text
// is a hex dump.
type Body struct {
	Frame int    `json:"frame"`
	Text  string `json:"text"`
	Bytes int    `json:"bytes"`
	Cut   bool   `json:"cut,omitempty"`
	Hex   bool   `json:"hex,omitempty"`
	// Was is the request before the user edited it; nil if it was not edited.
	Was *Body `json:"was,omitempty"`
}

// A Frame is a message, an HTTP head or the end of a stream, in recorded order.
type Frame struct {
	N     int         `json:"n"`
	Dir   string      `json:"dir"`
	Kind  string      `json:"kind"`
	Time  time.Time   `json:"time"`
	Line  string      `json:"line,omitempty"` // of an HTTP head: "POST /mcp", "200 OK"
	Head  [][2]string `json:"head,omitempty"`
	Event string      `json:"event,omitempty"`
	ID    string      `json:"id,omitempty"`
	Note  string      `json:"note,omitempty"`
	Body  *Body       `json:"body,omitempty"`
	// Was is the message before it was edited.
	Was *Body `json:"was,omitempty"`
}

// A Finding is a rule that was broken.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Fix      string `json:"fix,omitempty"`
	Pointer  string `json:"pointer,omitempty"`
	// Got is an excerpt of what the rule does not allow, or "".
	Got string `json:"got,omitempty"`
}

// A Wrong is a value that a schema does not allow.
type Wrong struct {
	Pointer string `json:"pointer"`
	Text    string `json:"text"`
}

// A Tool is a tool that a server listed, or that was called without being listed.
type Tool struct {
	Server      string          `json:"server"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Bytes       int             `json:"bytes"`
	Listed      string          `json:"listed"`  // "yes", "no", "only on page 2, which was not fetched by CLIENT"
	Page        string          `json:"page"`    // "1 of 2", "1 of 2 or more"
	Schema      string          `json:"schema"`  // "usable", or why not
	Changed     string          `json:"changed"` // "", or how since first seen
	Called      int             `json:"called"`
	Failed      int             `json:"failed"`
	P50         float64         `json:"p50,omitempty"`
	P95         float64         `json:"p95,omitempty"`
	LastError   string          `json:"lastError,omitempty"`
	LastRow     string          `json:"lastRow,omitempty"`
	Reason      string          `json:"reason,omitempty"` // why a client may not see or call it, if so
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	Target      string          `json:"target"`
	// App is the URI of the tool's page (MCP Apps), if it has one.
	App string `json:"app,omitempty"`
	// ShortPage is Page for a narrow column, "1 of 2+"; "" if Page is short enough.
	ShortPage string `json:"shortPage,omitempty"`
	// Command is the shell command that calls the tool: the part before the arguments and the part
	// after them. Refused is the reason why the view cannot call it. Both are only set for a page
	// that may call tools.
	Command []string `json:"command,omitempty"`
	Refused string   `json:"refused,omitempty"`
}

// A Stream is a stream of server-sent events, or a subscription.
type Stream struct {
	Row     string    `json:"row"`
	Client  string    `json:"client"`
	Server  string    `json:"server"`
	What    string    `json:"what"` // "GET", "response to tools/call slow", "subscription"
	Opened  time.Time `json:"opened"`
	Events  int       `json:"events"`
	LastID  string    `json:"lastId,omitempty"`
	Quiet   float64   `json:"quiet"`
	Open    bool      `json:"open"`
	Text    string    `json:"text"` // one sentence: how it ended, cut, resumed, what was lost
	Problem bool      `json:"problem,omitempty"`
	// IsResponse is true if the stream is a response, to a request with Method and Name.
	IsResponse   bool   `json:"-"`
	Method, Name string `json:"-"`
}

// A Secret is a hidden value, identified by the hash that replaced it.
type Secret struct {
	Hash    string   `json:"hash"`
	Kind    string   `json:"kind"`
	Places  []string `json:"places"` // "header Authorization", "argument token", "result"
	Servers []string `json:"servers"`
	Times   int      `json:"times"`
	Rows    []string `json:"rows"`
}

// A Lane is a conversation in the Time view.
type Lane struct {
	Talk  string `json:"talk"`
	Title string `json:"title"`
	// Hint is the next step for the user while there are no rows.
	Hint string `json:"hint,omitempty"`
	// Bars are the exchanges of the time window. If there are too many, a bar represents several.
	Bars []Bar `json:"bars"`
}

// A Bar is an exchange in a Lane. Level separates bars that overlap in time.
type Bar struct {
	Key     string    `json:"key"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Level   int       `json:"level"`
	Label   string    `json:"label"`
	Channel string    `json:"channel"`
	State   string    `json:"state"`
	// Failed is true if an exchange of the bar failed.
	Failed bool    `json:"failed,omitempty"`
	Phases []Phase `json:"phases,omitempty"`
	Times  int     `json:"times,omitempty"`
}

// A Change is a difference of two values at a JSON pointer. Was is nil if the member was added, Is
// if it was removed.
type Change struct {
	Pointer string          `json:"pointer"`
	Was     json.RawMessage `json:"was,omitempty"`
	Is      json.RawMessage `json:"is,omitempty"`
}

// A Comparison has the differences between two conversations.
type Comparison struct {
	A       string   `json:"a"`
	B       string   `json:"b"`
	Tools   []string `json:"tools"`
	Schemas []string `json:"schemas"`
	Calls   []string `json:"calls"`
	Timing  []string `json:"timing"`
}

// A Suggestion is a word to insert into a filter, and the number of rows that match it.
type Suggestion struct {
	Text  string `json:"text"`
	Count int    `json:"count,omitempty"`
}

// A Reader answers the queries of views; *Views implements it. Methods return ErrGone for a key
// that is no longer kept, and *filter.Error for an invalid filter.
type Reader interface {
	Status() Status
	Wait(ctx context.Context, after uint64) uint64
	Rows(ctx context.Context, q Query) (Page, error)
	Conversations() []Conversation
	// Talk is Rows with the lines of each block.
	Talk(ctx context.Context, q Query) ([]Block, Page, error)
	Detail(ctx context.Context, key string) (Detail, error)
	// Body returns the bytes of a frame of an exchange.
	Body(ctx context.Context, key string, frame int) ([]byte, error)
	Tools(ctx context.Context, q Query) ([]Tool, error)
	Streams(ctx context.Context, q Query) ([]Stream, error)
	Secrets(ctx context.Context, q Query) ([]Secret, error)
	Lanes(ctx context.Context, q Query, from, to time.Time) ([]Lane, error)
	// Diff compares the responses and requests of two exchanges.
	Diff(ctx context.Context, a, b string) (request, response []Change, err error)
	Compare(ctx context.Context, talkA, talkB string) (Comparison, error)
	// Suggest completes the last word of a filter with fields and with values seen in rows.
	Suggest(filter string) []Suggestion
}

// ErrGone is returned for a row that is no longer kept.
var ErrGone = live.ErrGone

// ErrSort is returned for an unknown sort key.
var ErrSort = live.ErrSort

// A Status is the status of the store and of what waits for the user.
type Status struct {
	live.Status
	// Title names the source: "all recordings", or a file.
	Title string `json:"title"`
	// Hint is the next step for the user while there are no rows.
	Hint string `json:"hint,omitempty"`
	// Questions, Held and Faults are the numbers of open questions, held messages and armed faults.
	Questions int  `json:"questions,omitempty"`
	Held      int  `json:"held,omitempty"`
	Faults    int  `json:"faults,omitempty"`
	Intercept bool `json:"intercept,omitempty"`
	// Wanted is the filter for messages to hold; "" matches every message.
	Wanted string `json:"wanted,omitempty"`
	// File is true if the source cannot grow.
	File bool `json:"file,omitempty"`
	// Catalogs counts how often the servers of the Try view have said that a list changed. A view
	// then gets the Catalog again.
	Catalogs int `json:"catalogs,omitempty"`
	// Notice is what mcpc has said last about the server that the view restarts after changes of files.
	// Notices counts what it has said.
	Notice  string `json:"notice,omitempty"`
	Notices int    `json:"notices,omitempty"`
	// Trouble says why the server that the view started does not run or does not list its tools, or is "".
	Trouble string `json:"trouble,omitempty"`
	// Output is true if the server that the view started has written to standard error.
	Output bool `json:"output,omitempty"`
	// Own is true if the view has started a server.
	Own bool `json:"own,omitempty"`
	// Home is true if the view has servers to show.
	Home bool `json:"home,omitempty"`
}

// How long a view waits after a change before it reads again. It waits longer while recordings load,
// because each answer differs then and loading has priority.
const (
	changeGap  = time.Second / 30
	loadingGap = time.Second / 5
)

// Gap returns how long to wait before the next query.
func (s Status) Gap() time.Duration {
	if s.Loading {
		return loadingGap
	}
	return changeGap
}
