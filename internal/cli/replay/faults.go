package replay

import (
	"context"
	"net/url"
	"slices"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/proxy"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// startFaults inserts the fault rules, if there are any, between the replay and its server: by mcpc
// tap for a command, by a proxy on this machine for a URL, in mcpc demo itself for demo. It changes
// the server in o or f to that. end is never nil; it stops the proxy and writes the report of the
// faults.
func (o *options) startFaults(ctx context.Context, f *cmdutil.Factory) (end func() error, err error) {
	end = func() error { return nil }
	if !o.faults.HasRules() {
		_, err := o.faults.Start(f, proxy.LinkHTTP) // refuses a report on nothing
		return end, err
	}
	if o.Argv != nil || f.Server == connect.DemoEndpoint {
		return end, o.startWithFaults(f)
	}
	serverURL, err := url.Parse(f.Server)
	if err != nil || serverURL.Scheme != "http" && serverURL.Scheme != "https" {
		return end, usage.New("--fault needs the server's URL or command",
			wire.Run("proxy --fault RULES --to TARGET")+" makes messages fail in front of any server")
	}
	s, err := o.faults.Start(f, proxy.LinkHTTP)
	if err != nil {
		return end, err
	}
	proxyURL, end, out := s.StartProxy(ctx, serverURL)
	if !out.OK() {
		return end, cmdutil.Exit(out)
	}
	f.Server = proxyURL.String()
	return end, nil
}

// startWithFaults changes the command of the server so that mcpc tap or mcpc demo applies the
// rules.
func (o *options) startWithFaults(f *cmdutil.Factory) error {
	self, err := f.Executable()
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("finding mcpc", err))
	}
	words, err := o.faults.Words(f)
	if err != nil {
		return err
	}
	if f.State != "" {
		words = append(words, "--state", f.State)
	}
	if o.Argv == nil {
		o.Argv = slices.Concat([]string{self, "demo", "--stdio"}, words)
		f.Server = ""
		f.ServerGiven = false
		return nil
	}
	o.Argv = slices.Concat([]string{self, "tap"}, words, []string{"--"}, o.Argv)
	return nil
}
