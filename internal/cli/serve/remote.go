package serve

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect/gateway"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// loginOptions are the flags for servers that require a login.
type loginOptions struct {
	noBrowser bool
	wait      time.Duration
	// port and host are those of the redirect URI. port is 0 for a free one.
	port int
	host string
}

// addFlags declares the flags of logins, and the flags of mcp-remote that configurations of clients
// contain. Those that mcpc does not need are accepted and have no effect.
func (o *options) addFlags(flags *pflag.FlagSet) {
	o.login.wait = 8 * time.Second
	flags.Var((*cmdutil.Seconds)(&o.login.wait), "login-wait", "how long a list waits for a login")
	flags.BoolVar(&o.login.noBrowser, "no-browser", false, "open no browser for a login, show the address only")
	flags.IntVar(&o.login.port, "callback-port", 0, "`port` of the redirect URI of logins (default: a free port)")
	flags.StringVar(&o.login.host, "host", "", "`host` of the redirect URI of logins: localhost or 127.0.0.1")
	flags.StringArrayVar(&o.ignored, "ignore-tool", nil, "do not serve tools whose name matches this `pattern`")
	flags.BoolVar(&o.debug, "debug", false, "show each step of a login on stderr")
	hidden := []string{"host", "ignore-tool", "debug"}
	for _, name := range []string{"allow-http", "enable-proxy", "silent", "keep-alive", "ipv4", "disable-cookies"} {
		flags.Bool(name, false, "no effect")
		hidden = append(hidden, name)
	}
	for _, name := range []string{
		"transport", "auth-timeout", "ping-interval", "headers-timeout", "body-timeout", "auth-success-url",
	} {
		flags.String(name, "", "no effect, whatever the `value`")
		hidden = append(hidden, name)
	}
	for _, name := range hidden {
		_ = flags.MarkHidden(name)
	}
}

// takePort removes the callback port from args, which mcp-remote takes after the URL, and returns the
// servers.
func (o *options) takePort(args []string) []string {
	if len(args) != 2 || !cmdutil.IsURL(args[0]) {
		return args
	}
	port, err := strconv.ParseUint(args[1], 10, 16)
	if err != nil {
		return args
	}
	o.login.port = int(port)
	return args[:1]
}

// checkLogin returns a usage error for the flags of logins.
func (o *options) checkLogin() error {
	if o.login.port < 0 || o.login.port > 65535 {
		return usage.New(fmt.Sprintf("%d is not a port", o.login.port), "")
	}
	if h := o.login.host; h != "" && h != "localhost" && h != "127.0.0.1" {
		return usage.New(
			"--host "+h+": a login returns to this machine only",
			"--host localhost or --host 127.0.0.1; --http HOST:PORT is where clients connect",
		)
	}
	return nil
}

// gatewayLogin returns how the user logs in, or nil with --no-auth-prompt.
func (o *options) gatewayLogin(f *cmdutil.Factory) *gateway.LoginOptions {
	if f.Auth.NoPrompt {
		return nil
	}
	login := &gateway.LoginOptions{Wait: o.login.wait, Settings: o.redirectSettings()}
	if !o.login.noBrowser && console.HasBrowser(&f.Console) {
		login.Browse = func(address string, failed func(error)) error {
			return console.Browse(&f.Console, address, failed)
		}
	}
	return login
}

// redirectSettings returns the settings of the redirect URI that the flags select.
func (o *options) redirectSettings() auth.Settings {
	if o.login.host != "" {
		address := o.login.host
		if o.login.port != 0 {
			address = net.JoinHostPort(o.login.host, strconv.Itoa(o.login.port))
		}
		return auth.Settings{Redirect: "http://" + address + "/callback"}
	}
	if o.login.port != 0 {
		return auth.Settings{Port: &o.login.port}
	}
	return auth.Settings{}
}

// variable matches ${NAME} in a header field.
var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
})

// expandHeaders replaces ${NAME} in the header fields of the command line by the value of the
// environment variable: a client's configuration then needs no secret among the arguments. It fails if
// a variable is not set.
func expandHeaders(f *cmdutil.Factory) error {
	var unset string
	for i, field := range f.Headers {
		f.Headers[i] = variable().ReplaceAllStringFunc(field, func(text string) string {
			name := variable().FindStringSubmatch(text)[1]
			value := f.Getenv(name)
			if value == "" && unset == "" {
				unset = name
			}
			f.Secrets.Learn(value)
			return strings.TrimSpace(value)
		})
	}
	if unset != "" {
		return usage.New(
			"the variable "+unset+" in a header field is not set, or empty",
			wire.Hint(`set it in "env" of the client's entry for mcpc`),
		)
	}
	return nil
}
