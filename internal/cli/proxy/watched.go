package proxy

import (
	"context"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/liveview"
	"mcpc/internal/live/view"
	"mcpc/internal/render/failure"
	"mcpc/internal/wire"
)

// drawable reports whether the output is a terminal that a view can fill.
func drawable(f *cmdutil.Factory) bool { return f.OutStyle.Terminal && f.IsTyped() }

// serveWatched serves and shows the traffic from now on. The proxy ends when the user leaves a view
// at the terminal, but not when a page is closed.
func (o *proxyOptions) serveWatched(
	ctx context.Context,
	f *cmdutil.Factory,
	address, clientURLs, target string,
	serve func(context.Context) error,
) error {
	powers := view.Powers{Mark: true, Export: true, Files: o.tui, Resend: o.tui, Call: o.tui, Intercept: o.tui}
	v, out := liveview.Open(f,
		liveview.Options{
			Title: "proxy at http://" + address, Hint: "Point clients at " + clientURLs,
			Powers: powers, AskServer: o.ask,
		})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	defer v.Close(context.WithoutCancel(ctx))
	filter := liveview.FromNow(f) + ` target:"` + target + `"`
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- serve(ctx)
	}()
	var err error
	if o.web {
		err = liveview.Web(ctx, f, v, liveview.Page{Filter: filter})
	} else if drawable(f) {
		err = liveview.Terminal(ctx, f, v, filter, false)
		stop()
	} else {
		err = liveview.Lines(ctx, f, v, filter)
	}
	// If the view fails, the proxy continues without it.
	if failed, ok := err.(*cmdutil.ExitError); ok && failed.Outcome.Kind != wire.Signal {
		f.Warn("the view has ended: " + failure.Headline(failed.Outcome))
	}
	return <-ended
}
