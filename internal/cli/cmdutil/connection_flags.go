package cmdutil

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
)

// AddIndex declares --index on a command that names a tool.
func (f *Factory) AddIndex(flags *pflag.FlagSet) {
	flags.IntVar(&f.Index, "index", 0, "which of several tools with the same name, from 1")
}

// AddFresh declares --fresh on a command that checks its requests with the server's lists.
func (f *Factory) AddFresh(flags *pflag.FlagSet) {
	flags.BoolVar(&f.Fresh, "fresh", false, "fetch definitions again, whatever is cached")
}

// AnsweringFlags are those of mcpc help answering, where a command has them.
func AnsweringFlags(cmd *cobra.Command) (answers []*pflag.Flag) {
	for _, name := range []string{"answer", "answer-defaults", "decline", "on-elicit", "sampling", "on-sampling", "root"} {
		if f := cmd.LocalNonPersistentFlags().Lookup(name); f != nil {
			answers = append(answers, f)
		}
	}
	return answers
}

// addAuthFlags declares the authorization flags of every command.
func addAuthFlags(f *pflag.FlagSet, o *host.AuthFlags) {
	f.StringVar(&o.Account, "account", "", "`name` of the account, if there are several at the server")
	f.StringVar(&o.TokenFile, "token-file", "", "send the token in `FILE` (or in MCPC_TOKEN)")
	f.BoolVar(&o.NoPrompt, "no-auth-prompt", false, "never prompt for a login; exit with code 4")
}

// addNetworkFlags declares the flags of every command about the way to a server.
func addNetworkFlags(f *pflag.FlagSet, o *host.NetworkFlags) {
	f.StringVar(&o.CACert, "cacert", "", "`file` with CA certificates to trust, not the system's (PEM)")
	f.StringVar(&o.Cert, "cert", "", "`file` with the client certificate (PEM, may contain the key)")
	f.StringVar(&o.Key, "key", "", "`file` with the private key of --cert (PEM, not encrypted)")
	f.BoolVar(&o.Insecure, "insecure", false, "do not verify the server's certificate; never remembered")
	f.StringVar((*string)(&o.Proxy), "proxy", "", "proxy `URL`: http://, https:// or socks5://HOST:PORT; none disables it")
	f.StringArrayVar(&o.Resolve, "resolve", nil, "`HOST:PORT:ADDR`ESS: connect to ADDRESS instead of resolving HOST")
	f.StringVar(&o.Socket, "unix-socket", "", "connect through the unix socket at this `path`")
}

// AddKeepFlags declares the flags of mcpc init about a server that stays.
func AddKeepFlags(f *pflag.FlagSet, k *connect.Keeping) {
	f.BoolVar(&k.On, "keep", false, "keep the server after -- running for later commands")
	f.Var((*Seconds)(&k.Idle), "idle", "with --keep: stop it after this idle time (default 10m, 0 never)")
}

// AddExtension declares the flag for client extensions.
func (f *Factory) AddExtension(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.Answers.Extensions, "extension", nil, "declare the client extension `ID[=JSON]`, with its settings")
}

// AddAnswering declares them on a command that talks to a server.
func (f *Factory) AddAnswering(flags *pflag.FlagSet) {
	f.AddExtension(flags)
	flags.StringArrayVar(&f.Answers.Answers, "answer", nil, "`answer` a form: FIELD=VALUE, JSON or @FILE (help answering)")
	flags.BoolVar(&f.Answers.Defaults, "answer-defaults", false, "answer a form with its defaults")
	flags.BoolVar(&f.Answers.Decline, "decline", false, "decline every form and page")
	flags.StringVar(&f.Answers.OnElicit, "on-elicit", "", "shell `command` that answers forms and pages (params on stdin)")
	flags.StringVar(&f.Answers.Sampling, "sampling", "", "`file` with the sampling result; - is the terminal or stdin")
	flags.StringVar(&f.Answers.OnSampling, "on-sampling", "", "shell `command` that answers sampling (params on stdin)")
	flags.StringArrayVar(&f.Answers.Roots, "root", nil, "`dir`ectory to offer as a root")
}
