package cmdutil

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// ExampleAnnotation is the annotation of a flag with an example of its use, for the error about a missing value.
const ExampleAnnotation = "mcpc_example"

// FlagText says which flag it is, what it wants, and what it got.
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

// flagCause says what a flag wants and what it got. Types of mcpc's own say it
// themselves.
func flagCause(bad *pflag.InvalidValueError) string {
	number, isNumber := errors.AsType[*strconv.NumError](bad)
	wants, ok := map[string]string{"int": "an integer", "int64": "an integer", "count": "an integer",
		"bool": "true or false"}[bad.GetFlag().Value.Type()]
	if isNumber && ok && errors.Is(number.Err, strconv.ErrRange) {
		wants += " that is not that large"
	} else if !isNumber || !ok {
		return ": " + bad.Unwrap().Error()
	}
	return fmt.Sprintf(" wants %s, got %q", wants, bad.GetValue())
}

// ShownValue returns the placeholder after a flag's name, in brackets where the value is
// optional.
func ShownValue(f *pflag.Flag) string {
	if f.NoOptDefVal != "" {
		return "[=" + Placeholder(f) + "]"
	}
	return " " + Placeholder(f)
}

// Placeholder is what the usage of a flag has in back quotes, or a type of mcpc's own.
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
