package reload

import "context"

// Rebuild calls build after each value of changed, and returns a channel that receives a value after
// each build that has succeeded, until ctx is done. build reports its own failures.
func Rebuild(ctx context.Context, changed <-chan struct{}, build func(context.Context) bool) <-chan struct{} {
	built := make(chan struct{}, 1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			if !build(ctx) {
				continue
			}
			select {
			case built <- struct{}{}:
			default:
			}
		}
	}()
	return built
}
