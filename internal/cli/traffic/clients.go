package traffic

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/clients"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/clienttable"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// showClients compares what the clients of recordings do. The filter selects conversations.
func showClients(ctx context.Context, f *cmdutil.Factory, o logOptions) error {
	if o.markdown == "-" && (f.JSON || f.Jq != "") {
		return usage.New("stdout can have one report: --json, --jq or --markdown -", "--markdown FILE writes a second one")
	}
	if o.markdown != "-" {
		if out := cmdutil.CheckWritable("--markdown", o.markdown); !out.OK() {
			return cmdutil.Exit(out)
		}
	}
	var reader clients.Reader
	out := eachCapture(f, o.file, func(c *rows.Capture, _ time.Time) (more bool) {
		isByClient := func(h capture.Head) bool { return h.By != capture.ByCommand }
		if o.file == "" && !slices.ContainsFunc(c.Heads, isByClient) { // mcpc was the client
			return ctx.Err() == nil
		}
		if err := reader.Add(c, recorded.Matching(f, o.filter)); err != nil {
			f.Warn(c.Path + ": " + err.Error())
		}
		return ctx.Err() == nil
	})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	all := clients.Compare(reader.Conversations())
	redact.Within(&f.Secrets, &all)
	if len(all) == 0 {
		f.Note("no recorded client matches; mcpc tap and mcpc proxy record clients")
	}
	if o.markdown != "" && o.markdown != "-" {
		if err := cmdutil.ReplaceFile(o.markdown, clienttable.Markdown(all)); err != nil {
			return cmdutil.Exit(usage.LocalIO("writing "+o.markdown, usage.Bare(err)))
		}
	}
	raw, _ := json.Marshal(map[string]any{"clients": append([]*clients.Client{}, all...)}) // not null
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		text := clienttable.Markdown(all)
		if o.markdown != "-" {
			text = clienttable.Text(st, all)
		}
		_, err := w.Write(text)
		return err
	}))
}
