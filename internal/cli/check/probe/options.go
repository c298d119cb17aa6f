package probe

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint"
	"mcpc/internal/usage"
)

// Options say what is sent to a server in addition to well-formed requests that change nothing.
type Options struct {
	Negative, ReadOnly, Auth bool
	// MaxRequests is the number of requests after which the check stops; 0 means no limit.
	MaxRequests int
	// Fuzz says which tools are called with generated arguments.
	Fuzz FuzzOptions
	// Calls are the parsed values of --call; Validate sets them.
	Calls []Call

	deep bool
	// maxRequests is the flag of MaxRequests.
	maxRequests *pflag.Flag
	words       []string
	rate        string
	seed        int64
}

// A Call is a value of --call: a tool and its arguments.
type Call struct {
	Name string
	Args json.RawMessage
}

// Params returns the params of the tools/call request.
func (c Call) Params() json.RawMessage {
	return jsonraw.With(jsonraw.With(nil, "name", jsonraw.Quote(c.Name)), "arguments", c.Args)
}

// Declare adds the flags of the options to flags.
func (o *Options) Declare(flags *pflag.FlagSet) {
	flags.BoolVar(&o.Negative, "negative", false, "also send malformed requests")
	flags.StringArrayVar(&o.words, "call", nil, "also call this tool: `TOOL[=JSON]`")
	_ = flags.SetAnnotation("call", cmdutil.ExampleAnnotation, []string{`--call get-sum='{"a":1,"b":2}'`})
	flags.BoolVar(&o.ReadOnly, "call-read-only", false, "also call the tools that are read-only and need no arguments")
	flags.BoolVar(&o.Auth, "auth", false, "also send a request without a token, to see how a client gets one")
	flags.BoolVar(&o.deep, "deep", false, "the same as --negative --call-read-only --auth")
	flags.StringVar(&o.rate, "rate", "", "limit of requests: `5/s`, 30/m, 0 for no limit")
	flags.IntVar(&o.MaxRequests, "max-requests", 200, "stop after this `number` of requests (0 for no limit)")
	flags.Int64Var(&o.seed, "seed", 1, "seed for random values, a `number`")
	o.maxRequests = flags.Lookup("max-requests")
	o.Fuzz.declare(flags)
}

// Validate parses the values of the flags, and refuses invalid ones.
func (o *Options) Validate() error {
	if o.deep {
		o.Negative = true
		o.ReadOnly = true
		o.Auth = true
	}
	if _, ok := parseRate(o.rate); !ok {
		return usage.New(fmt.Sprintf("--rate: %q is not a rate", o.rate), "use 5/s, 30/m or 0")
	}
	if o.MaxRequests < 0 {
		return usage.New("--max-requests must be 0 or more", "0 means no limit")
	}
	if err := o.Fuzz.validate(); err != nil {
		return err
	}
	if o.Fuzz.On && !o.maxRequests.Changed && o.MaxRequests > 0 {
		o.MaxRequests += 2 * o.Fuzz.Budget // --budget limits them, and some calls are followed by a list
	}
	o.Calls = nil
	for _, word := range o.words {
		name, args, given := strings.Cut(word, "=")
		call := Call{Name: name, Args: json.RawMessage("{}")}
		if given {
			if _, err := jsonraw.Object([]byte(args)); err != nil {
				return usage.New("--call "+name+": the arguments are not a JSON object", `--call 'get-sum={"a":1,"b":2}'`)
			}
			call.Args = json.RawMessage(args)
		}
		o.Calls = append(o.Calls, call)
	}
	return nil
}

// parseRate reads a number of requests with a unit of time, and returns requests a second. It
// accepts "" and then returns 0, which means no limit.
func parseRate(text string) (float64, bool) {
	number, unit, _ := strings.Cut(text, "/")
	per := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(number, 64)
	isValid := err == nil && n >= 0 && n <= 1e6 && per > 0
	return n / max(per, 1), text == "" || isValid
}

// requestsPerSecond returns the rate, or 0 without a limit. A server on this machine has no limit
// unless the user sets one.
func (o *Options) requestsPerSecond(local bool) float64 {
	rate, _ := parseRate(o.rate)
	if o.rate == "" && !local {
		return defaultRate
	}
	return rate
}

// Runs reports whether rules of a mode are judged.
func (o *Options) Runs(mode lint.Mode) bool {
	switch mode {
	case lint.Negative:
		return o.Negative
	case lint.Calls:
		return len(o.Calls) > 0 || o.ReadOnly
	case lint.Fuzz:
		return o.Fuzz.On
	}
	return true
}
