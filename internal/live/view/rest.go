package view

import (
	"context"
	"time"
)

func (v *Views) Streams(ctx context.Context, q Query) ([]Stream, error) { return []Stream{}, nil }
func (v *Views) Secrets(ctx context.Context, q Query) ([]Secret, error) { return []Secret{}, nil }
func (v *Views) Lanes(ctx context.Context, q Query, from, to time.Time) ([]Lane, error) {
	return []Lane{}, nil
}
func (v *Views) Diff(ctx context.Context, a, b string) (request, response []Change, err error) {
	return nil, nil, nil
}
func (v *Views) Compare(ctx context.Context, talkA, talkB string) (Comparison, error) {
	return Comparison{}, nil
}
func (v *Views) Suggest(filter string) []Suggestion { return nil }

var _ Reader = (*Views)(nil)
