package act

import (
	"context"
	"errors"

	"mcpc/internal/live/view"
)

// errNoHold is the error where messages cannot be held.
var errNoHold = errors.New("messages cannot be held here")

// Held are the messages that wait to be released.
func (a *Actor) Held() []view.Held { return []view.Held{} }

// Intercepting reports whether messages are held.
func (a *Actor) Intercepting() bool { return false }

// Intercept holds the messages that a filter wants.
func (a *Actor) Intercept(context.Context, bool, string) error { return errNoHold }

// Release lets a message go, edited where text is not "".
func (a *Actor) Release(_ context.Context, _, _ string) error { return errNoHold }

// Drop drops a held message.
func (a *Actor) Drop(context.Context, string) error { return errNoHold }

// Reveal returns a held message with its secrets.
func (a *Actor) Reveal(context.Context, string) (string, error) { return "", errNoHold }

var _ view.Actor = (*Actor)(nil)
