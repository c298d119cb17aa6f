package cmdutil

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestTapCommandHasTheFlags(t *testing.T) {
	var o WatchOptions
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	f := New(strings.NewReader(""), nil, nil)
	f.Program = "/bin/mcpc"
	server := []string{"node", "x y.js"}
	if got, err := o.TapCommand(f, server); err != nil || len(got) != 2 {
		t.Errorf("without --watch: %q, %v", got, err)
	}
	if o.Drain() != 5*time.Second || o.Hold() != 30*time.Second {
		t.Errorf("the defaults are %s and %s", o.Drain(), o.Hold())
	}
	if err := flags.Parse([]string{"--watch", "a", "--watch", "-b", "--build", "make all", "--drain", "0", "--hold", "90"}); err != nil {
		t.Fatal(err)
	}
	if o.Drain() != noLimit || o.Hold() != 90*time.Second {
		t.Errorf("the limits are %s and %s", o.Drain(), o.Hold())
	}
	got, err := o.TapCommand(f, server)
	want := "/bin/mcpc tap --no-record --watch=a --watch=-b --build=make all --drain=0s --hold=1m30s -- node x y.js"
	if err != nil || strings.Join(got, " ") != want {
		t.Errorf("%q, %v", got, err)
	}
	if err := o.Check(); err != nil {
		t.Error(err)
	}
}
