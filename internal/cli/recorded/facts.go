package recorded

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/connect"
	"mcpc/internal/render/term"
)

// Title returns the headline of an exchange.
func Title(row *rows.Row) string {
	title := strings.TrimSpace(cmp.Or(row.Method, "(no traffic)") + " " + row.Name)
	return "#" + row.Number() + "  " + title + "  " + row.Channel
}

// Facts returns the labels and values that describe an exchange, without its messages. Values may
// be empty.
func Facts(row *rows.Row, now time.Time) [][]string {
	outcome := row.Channel
	if row.Exit >= 0 { // below 0 it is unknown
		outcome += fmt.Sprintf(" (exit code %d)", row.Exit)
	}
	if row.Code != 0 {
		outcome += fmt.Sprintf(", error %d", row.Code)
	}
	if row.LacksEnd() {
		outcome += "; the recording ends here (killed, or still running)"
	}
	status := ""
	if row.Status > 0 {
		status = fmt.Sprint(row.Status)
	}
	return [][]string{
		{"server", row.Target},
		{"server command", serverCommandOf(row)},
		{"time", row.Time.Local().Format("2006-01-02 15:04:05.000")},
		{"outcome", outcome},
		{"message", row.Text},
		{"hint", row.Hint},
		{"http status", status},
		{"protocol", row.Revision},
		{"client", row.Client()},
		{"server info", row.Server()},
		{"took", Took(row, now)},
		{"bytes", fmt.Sprintf("%d sent, %d received", row.Sent, row.Received)},
		{"notes", row.Remarks()},
		{"resent from", row.ReplayOf},
		{"command", connect.CommandLine(row.Head().Argv)},
	}
}

// serverCommandOf returns the command of a stdio server that is recorded under a name, or "".
func serverCommandOf(row *rows.Row) string {
	if command := row.Head().Command; len(command) > 0 && connect.CommandLine(command) != row.Target {
		return connect.CommandLine(command)
	}
	return ""
}

// Took returns the duration of an exchange, until now if it is still running, or "" if it is
// unknown.
func Took(r *rows.Row, now time.Time) string {
	if r.IsWaiting() && r.Head().Pid > 0 { // without a process id it is unknown whether it still runs
		untilNow := now.Sub(r.Time) - r.Held // without the time in which the user held a message
		return term.Duration(max(untilNow, r.Duration))
	}
	if r.IsOpen() && r.Duration == 0 {
		return ""
	}
	return term.Duration(r.Duration)
}
