package liveview

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mcpc/internal/capture/bundle"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/cli/share"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
	"mcpc/internal/sanitize"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// Copy returns an exchange as text in a form: mcpc or curl (a shell command), markdown, json (the
// exchange), or request (only the request's message).
func (a *Actor) Copy(_ context.Context, key, form string) (string, error) {
	g := a.separateInvocation()
	c, row, err := a.openRow(g, key)
	if err != nil {
		return "", err
	}
	defer c.Close()
	var b limitedText
	switch form {
	case "mcpc", "curl", "markdown":
		err = share.WriteAs(g, form, &b, c, []*rows.Row{row})
	case "json", "request":
		var x *wire.Exchange
		x, err = row.Exchange()
		if err == nil && form == "json" {
			err = recorded.WriteExchange(&b, row, x, nil)
		} else if err == nil && x != nil {
			_, err = b.Write(x.Request.Raw)
		}
		// The user may paste the text into a terminal, so control characters are escaped.
		b.text = sanitize.Bytes(b.text, sanitize.JSON)
	default:
		err = errors.New("no such form: " + form)
	}
	if err != nil {
		return "", userError(g, share.Failed(err))
	}
	return strings.TrimRight(string(b.text), "\n"), nil
}

// maxCopied limits the bytes of a copied text. Tests set a smaller limit.
var maxCopied = 16 << 20

// A limitedText is a writer that keeps at most maxCopied bytes and then fails.
type limitedText struct{ text []byte }

func (s *limitedText) Write(text []byte) (int, error) {
	if len(text) > maxCopied-len(s.text) {
		return 0, errors.New("more than 16 MiB, which is too long to be copied: export it")
	}
	s.text = append(s.text, text...)
	return len(text), nil
}

// A form is a file format of exports. shareName is its name in package share; "" means bundles.
type form struct {
	name, shareName, extension, media string
	isBundle                          bool
}

// forms are the formats of exports. The extension of a bundle makes a double click open it in a browser.
var forms = []form{
	{"bundle", "", ".mcpcz.html", "application/octet-stream", true},
	{"html", "", ".html", "text/html", true},
	{"har", "har", ".har", "application/json", false},
	{"markdown", "markdown", ".md", "text/markdown", false},
	{"jsonl", "jsonl", ".jsonl", "application/jsonl", false},
	{"saved", "mcpc-yaml", ".mcpc.yaml", "application/yaml", false},
}

// Preview describes what Export would write.
func (a *Actor) Preview(ctx context.Context, e view.Export) (view.Exported, error) {
	return a.export(ctx, e, func(out *view.Exported, f form, write func(io.Writer) error) error {
		return write(io.Discard)
	})
}

// Export writes a file into the current directory, or returns its contents if Powers.Files is
// false.
func (a *Actor) Export(ctx context.Context, e view.Export) (view.Exported, error) {
	if !a.ActorOptions.Powers.Export {
		return view.Exported{}, errors.New("exports are not allowed here")
	}
	return a.export(ctx, e, func(out *view.Exported, f form, write func(io.Writer) error) error {
		out.Type = f.media
		if !a.ActorOptions.Powers.Files {
			var b bytes.Buffer
			out.File = a.fileName(f, firstTry) // no file is written, so the name need not be new
			err := write(&b)
			out.Data = b.Bytes()
			return err
		}
		file, err := a.newFile(f)
		if err != nil {
			return err
		}
		out.File = file.Name()
		if err := errors.Join(write(file), file.Close()); err != nil {
			os.Remove(out.File)
			return err
		}
		return nil
	})
}

// newFile tries file names from firstTry to maxTries.
const (
	firstTry = 1
	maxTries = 1000
)

// fileName returns a file name made from the current time, with the number of the try if it is not
// the first.
func (a *Actor) fileName(f form, try int) string {
	name := "mcpc-" + a.Factory.Now().Format("20060102-150405")
	if try > firstTry {
		name += fmt.Sprint("-", try)
	}
	return name + f.extension
}

// newFile creates a file in the current directory under a name that no file has. It never overwrites one.
func (a *Actor) newFile(f form) (*os.File, error) {
	for try := firstTry; ; try++ {
		file, err := os.OpenFile(a.fileName(f, try), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) || try == maxTries {
			return file, err
		}
	}
}

// export copies the selected exchanges into a temporary capture, and calls use with a function that
// writes them in the chosen form. use may complete the description, which export returns: the
// number of rows, hidden values and possible secrets.
func (a *Actor) export(
	ctx context.Context,
	e view.Export,
	use func(out *view.Exported, f form, write func(io.Writer) error) error,
) (out view.Exported, err error) {
	i := slices.IndexFunc(forms, func(f form) bool { return f.name == e.Form })
	if i < 0 {
		return out, errors.New("no such form: " + e.Form)
	}
	ctx, done := a.contextOfView(ctx)
	defer done()
	keys, note, err := a.selectedRows(ctx, e)
	if err != nil {
		return out, err
	}
	out.Rows = len(keys)
	if out.Rows == 0 {
		return out, errors.New("no exchange to export")
	}
	g := a.separateInvocation()
	c, added, err := a.copyRows(ctx, g, keys, forms[i].isBundle)
	if err != nil {
		return out, userErrorOf(g, err)
	}
	defer c.Close()
	if forms[i].isBundle {
		err = exportBundle(ctx, g, c, share.BundleOptions{Note: note, Added: added}, forms[i], &out, use)
	} else {
		err = exportAs(g, c, forms[i], &out, use)
	}
	if err != nil {
		return view.Exported{}, userErrorOf(g, err)
	}
	return out, nil
}

// exportAs exports c in a form other than a bundle. It sets the doubts and the number of hidden
// values in out.
func exportAs(
	g *cmdutil.Factory,
	c *rows.Capture,
	f form,
	out *view.Exported,
	use func(out *view.Exported, f form, write func(io.Writer) error) error,
) error {
	var err error
	out.Doubts, err = share.Doubts(c)
	if err != nil {
		return err
	}
	out.Hidden, err = share.CountHidden(c)
	if err != nil {
		return err
	}
	rows := c.Rows()
	// jsonl and markdown can describe a row that has no message, such as a failed connection; the
	// others cannot.
	if f.shareName != "jsonl" && f.shareName != "markdown" {
		rows = share.WithMessages(rows)
	}
	return use(out, f, func(w io.Writer) error { return share.WriteAs(g, f.shareName, w, c, rows) })
}

// exportBundle exports c as a bundle or as the page of a bundle, which hide more than other forms.
// It sets the doubts and the number of hidden values in out.
func exportBundle(
	ctx context.Context,
	g *cmdutil.Factory,
	c *rows.Capture,
	o share.BundleOptions,
	f form,
	out *view.Exported,
	use func(out *view.Exported, f form, write func(io.Writer) error) error,
) error {
	b, err := share.NewBundle(
		ctx,
		g,
		o,
		func() (*rows.Capture, []*rows.Row, wire.Outcome) { return c, c.Rows(), wire.Outcome{} },
	)
	if err != nil {
		return err
	}
	defer b.Close()
	out.Doubts, err = b.Doubts()
	if err != nil {
		return err
	}
	out.Hidden = b.Manifest.Hidden
	if f.name == "html" {
		return use(out, f, b.WritePage)
	}
	return use(out, f, b.Write)
}

// selectedRows returns the keys of the rows of an export, and the notes of the marked rows, one
// line for each.
func (a *Actor) selectedRows(ctx context.Context, e view.Export) (keys []live.Key, notes string, err error) {
	_, err = view.EachRow(ctx, a.Reader, e.Query, func(row view.Row) {
		key, ok := live.ParseKey(row.Key)
		isExcluded := e.Marked && !row.Mark
		if !ok || isExcluded {
			return
		}
		keys = append(keys, key)
		if row.Mark {
			notes += strings.TrimSpace("* "+row.Key+" "+row.Note) + "\n"
		}
	})
	if err == nil {
		err = ctx.Err() // EachRow returns no error if ctx ended: some rows would be missing
	}
	return keys, notes, err
}

// copyRows copies exchanges into a new capture, which the caller must close. If withContext is set, it
// also copies the exchanges needed to understand them; added is their number.
func (a *Actor) copyRows(
	ctx context.Context,
	g *cmdutil.Factory,
	keys []live.Key,
	withContext bool,
) (c *rows.Capture, added int, err error) {
	file, err := bundle.Temporary()
	if err != nil {
		return nil, 0, err
	}
	// copyRuns needs the keys of a run next to each other.
	sliceutil.Sort(keys, func(x, y live.Key) int { return cmp.Or(x.Run-y.Run, x.Index-y.Index) })
	added, err = a.copyRuns(ctx, g, file, keys, withContext)
	if err == nil {
		c, err = rows.OpenFrom("export", file)
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return c, added, nil
}

// copyRuns copies exchanges of several runs. The keys are sorted by run. added is the number of
// exchanges that were copied in addition to the exchanges of keys.
func (a *Actor) copyRuns(
	ctx context.Context, g *cmdutil.Factory, to io.Writer, keys []live.Key, withContext bool,
) (added int, err error) {
	for len(keys) > 0 {
		count := slices.IndexFunc(keys, func(k live.Key) bool { return k.Run != keys[0].Run })
		if count < 0 { // all remaining keys are of one run
			count = len(keys)
		}
		addedToRun, err := a.copyRun(g, to, keys[:count], withContext)
		if err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		added += addedToRun
		keys = keys[count:]
	}
	return added, nil
}

// copyRun copies exchanges of one run to a writer. added is the number of exchanges copied for
// their context.
func (a *Actor) copyRun(g *cmdutil.Factory, to io.Writer, keys []live.Key, withContext bool) (added int, err error) {
	c, err := a.Open(keys[0])
	if err != nil {
		return 0, err
	}
	defer c.Close()
	g.HideSecretsIn(c)
	selected := map[live.Key]bool{}
	for _, k := range keys {
		selected[k] = true
	}
	toCopy := slices.DeleteFunc(slices.Clone(c.Rows()), func(r *rows.Row) bool { return !selected[live.KeyOf(r)] })
	if withContext {
		extended := share.WithContext(c, toCopy)
		added = len(extended) - len(toCopy)
		toCopy = extended
	}
	return added, c.Copy(to, toCopy)
}
