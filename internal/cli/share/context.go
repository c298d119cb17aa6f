package share

import (
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/live"
	"mcpc/internal/live/view/listed"
)

// WithContext adds the rows without which others cannot be understood, and no mock can be made of
// them: the handshakes of their conversations, and with lists also the pages of the tools/list that
// the client fetched last.
func WithContext(c *capture.Capture, rows []*capture.Row, lists bool) []*capture.Row {
	type kind struct {
		talk   live.Talk
		method string
	}
	has, in := map[live.Talk]bool{}, map[*capture.Row]bool{}
	for _, r := range rows {
		has[live.TalkOf(r)], in[r] = true, true
	}
	newest, pages := map[kind][]*capture.Row{}, listed.New()
	for _, r := range c.Rows() {
		k := kind{live.TalkOf(r), r.Method}
		switch opens := slices.Contains(recorded.OpeningMethods, r.Method); {
		case !has[k.talk]:
		case opens && (k.talk.Conn >= 0 || len(newest[k]) == 0):
			newest[k] = append(newest[k], r)
		case opens && r.Channel == capture.ChannelOK: // of a client that began anew for each request
			newest[k] = []*capture.Row{r}
		case lists && r.Method == listed.ToolsList:
			if p := pages.Page(r); p != nil && p.Cursor == "" {
				newest[k] = []*capture.Row{r}
			} else if p != nil {
				newest[k] = append(newest[k], r)
			}
		}
	}
	for _, more := range newest {
		for _, r := range more {
			in[r] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Rows()), func(r *capture.Row) bool { return !in[r] })
}
