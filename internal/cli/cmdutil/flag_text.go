package cmdutil

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// ExampleAnnotation is the key of a flag's annotation with an example value.
const ExampleAnnotation = "mcpc_example"

// FlagText returns the text of an error of pflag: the flag, what it takes and what it got.
func FlagText(err error) string {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := missing.GetFlag()
		return "--" + f.Name + " needs a value: --" + f.Name + ShownValue(f)
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return "--" + bad.GetFlag().Name + flagCause(bad)
	}
	return err.Error()
}

// flagCause returns what a flag takes and what it got. The errors of mcpc's own types say both
// already.
func flagCause(bad *pflag.InvalidValueError) string {
	wanted := map[string]string{
		"int": "an integer", "int64": "an integer", "count": "an integer",
		"bool": "true or false",
	}[bad.GetFlag().Value.Type()]
	parseErr, fromStrconv := errors.AsType[*strconv.NumError](bad)
	if !fromStrconv || wanted == "" {
		return ": " + bad.Unwrap().Error()
	}
	if errors.Is(parseErr.Err, strconv.ErrRange) {
		wanted += " in the supported range"
	}
	return fmt.Sprintf(" wants %s, got %q", wanted, bad.GetValue())
}

// ShownValue returns the placeholder after a flag's name, in brackets if the value is optional.
func ShownValue(f *pflag.Flag) string {
	if f.NoOptDefVal != "" {
		return "[=" + Placeholder(f) + "]"
	}
	return " " + Placeholder(f)
}

// Placeholder returns the word for a flag's value: what its usage has in back quotes, else its
// type.
func Placeholder(f *pflag.Flag) string {
	switch name, _ := pflag.UnquoteUsage(f); name {
	case "int":
		return "N"
	case "string", "strings", "stringArray":
		return ""
	default:
		return strings.ToUpper(name)
	}
}
