package main

import "github.com/spf13/pflag"

// addAuthFlags declares the flags of every command about who asks.
func addAuthFlags(f *pflag.FlagSet, o *authFlags) {
	f.StringVar(&o.account, "account", "", "`name` of the account, if there are several at the server")
	f.StringVar(&o.tokenFile, "token-file", "", "send the token in `FILE` (or in MCPC_TOKEN)")
	f.BoolVar(&o.noPrompt, "no-auth-prompt", false, "never prompt for a login; exit with code 4")
}

// addNetworkFlags declares the flags of every command about the way to a server.
func addNetworkFlags(f *pflag.FlagSet, o *reachFlags) {
	f.StringVar(&o.CACert, "cacert", "", "`file` with CA certificates to trust, not the system's (PEM)")
	f.StringVar(&o.Cert, "cert", "", "`file` with the client certificate (PEM, may contain the key)")
	f.StringVar(&o.Key, "key", "", "`file` with the private key of --cert (PEM, not encrypted)")
	f.BoolVar(&o.insecure, "insecure", false, "do not verify the server's certificate; never remembered")
	f.StringVar((*string)(&o.Proxy), "proxy", "", "proxy `URL`: http://, https:// or socks5://HOST:PORT; none disables it")
	f.StringArrayVar(&o.Resolve, "resolve", nil, "`HOST:PORT:ADDR`ESS: connect to ADDRESS instead of resolving HOST")
	f.StringVar(&o.Socket, "unix-socket", "", "connect through the unix socket at this `path`")
}

// addKeepFlags declares the flags of mcpc init about a server that stays.
func addKeepFlags(f *pflag.FlagSet, k *keeping) {
	f.BoolVar(&k.on, "keep", false, "keep the server after -- running for later commands")
	f.Var((*seconds)(&k.idle), "idle", "with --keep: stop it after this idle time (default 10m, 0 never)")
}

// addAnswering declares them on a command that talks to a server.
func (a *app) addAnswering(f *pflag.FlagSet) {
	f.StringArrayVar(&a.answers.Answers, "answer", nil, "`answer` a form: FIELD=VALUE, JSON or @FILE (help answering)")
	f.BoolVar(&a.answers.Defaults, "answer-defaults", false, "answer a form with its defaults")
	f.BoolVar(&a.answers.Decline, "decline", false, "decline every form and page")
	f.StringVar(&a.answers.OnElicit, "on-elicit", "", "shell `command` that answers forms and pages (params on stdin)")
	f.StringVar(&a.answers.Sampling, "sampling", "", "`file` with the sampling result; - is the terminal or stdin")
	f.StringVar(&a.answers.OnSampling, "on-sampling", "", "shell `command` that answers sampling (params on stdin)")
	f.StringArrayVar(&a.answers.Roots, "root", nil, "`dir`ectory to offer as a root")
}
