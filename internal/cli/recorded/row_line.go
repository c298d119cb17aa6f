package recorded

import (
	"time"

	"mcpc/internal/capture/rows"
)

// A Line is a row as JSON. Times are RFC 3339, durations are in seconds.
type Line struct {
	Number        string     `json:"number"`
	Time          time.Time  `json:"time"`
	Target        string     `json:"target"`
	Method        string     `json:"method"`
	Name          string     `json:"name,omitempty"`
	ID            string     `json:"id,omitempty"`
	Channel       string     `json:"channel"`
	Exit          *int       `json:"exit"`
	Seconds       float64    `json:"seconds"`
	Sent          int64      `json:"sent"`
	Received      int64      `json:"received"`
	Status        int        `json:"http,omitempty"`
	Code          int64      `json:"code,omitempty"`
	Revision      string     `json:"protocol,omitempty"`
	Era           string     `json:"era,omitempty"`
	By            string     `json:"by,omitempty"`
	Dir           string     `json:"dir"`
	Parent        string     `json:"parent,omitempty"`
	Guess         []string   `json:"guess,omitempty"`
	SameAs        string     `json:"sameAs,omitempty"`
	FirstByte     float64    `json:"firstByte,omitempty"`
	Conn          int        `json:"conn,omitempty"`
	Client        string     `json:"client,omitempty"`
	Server        string     `json:"server,omitempty"`
	Session       string     `json:"session,omitempty"`
	Again         string     `json:"again,omitempty"`
	Notifications int        `json:"notifications,omitempty"`
	Questions     int        `json:"questions,omitempty"`
	Guessed       int        `json:"guessed,omitempty"`
	Retries       int        `json:"retries,omitempty"`
	Resumed       int        `json:"resumed,omitempty"`
	Rounds        int        `json:"rounds,omitempty"`
	Cuts          int        `json:"cuts,omitempty"`
	Cancelled     *cancelOut `json:"cancelled,omitempty"`
	Findings      int        `json:"findings,omitempty"`
	Text          string     `json:"text,omitempty"`
}

// A cancelOut says which side cancelled a request, why, after how many seconds, and whether a
// response came nevertheless.
type cancelOut struct {
	By    string  `json:"by"`
	Why   string  `json:"why,omitempty"`
	After float64 `json:"after"`
	Late  bool    `json:"late,omitempty"`
}

// LineOf returns the row in the form that is written as JSON.
func LineOf(r *rows.Row) Line {
	out := Line{
		Number:        r.Number(),
		Time:          r.Time,
		Target:        r.Target,
		Method:        r.Method,
		Name:          r.Name,
		ID:            r.ID,
		Channel:       r.Channel,
		Seconds:       r.Duration.Seconds(),
		Sent:          r.Sent,
		Received:      r.Received,
		Status:        r.Status,
		Code:          r.Code,
		Revision:      r.Revision,
		Era:           r.Era,
		By:            r.By,
		Again:         r.ReplayOf,
		Notifications: r.Notes.Notifications,
		Questions:     r.Notes.Questions,
		Guessed:       r.Notes.Guessed,
		Dir:           r.Dir.String(),
		Guess:         r.GuessedNumbers(),
		FirstByte:     r.TimeToFirst.Seconds(),
		Conn:          r.Conn,
		Client:        r.Client(),
		Server:        r.Server(),
		Session:       r.Session(),
		Retries:       r.Notes.Retries,
		Resumed:       r.Notes.Resumed,
		Rounds:        r.Notes.Rounds,
		Cuts:          r.Notes.Cuts,
		Findings:      len(r.Findings),
		Text:          r.Text,
	}
	if r.Exit >= 0 {
		out.Exit = &r.Exit
	}
	if c := r.Cancel; c != nil {
		out.Cancelled = &cancelOut{By: c.Side(), Why: c.Why, After: c.After.Seconds(), Late: c.IsLate}
	}
	if r.SameAs != nil {
		out.SameAs = r.SameAs.Number()
	}
	if r.Within != nil && r.IsGuess { // which exchange it belongs to is only guessed
		out.Guess = []string{r.Within.Number()}
	} else if r.Within != nil {
		out.Parent = r.Within.Number()
	}
	return out
}
