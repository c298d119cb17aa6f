package reload

import "context"

// Rebuild calls build after each value of changed, and returns a channel that receives a value after
// each build that has succeeded, until ctx is done. build reports its own failures.
//
// Changes during a build are followed by another build. If files change during that one too, the build
// itself probably writes watched files: Rebuild calls note, and waits for the next change.
func Rebuild(
	ctx context.Context, changed <-chan struct{}, build func(context.Context) bool, note func(text string),
) <-chan struct{} {
	built := make(chan struct{}, 1)
	go func() {
		for isAgain := false; ; {
			if !isAgain {
				select {
				case <-ctx.Done():
					return
				case <-changed:
				}
			}
			if build(ctx) {
				select {
				case built <- struct{}{}:
				default:
				}
			}
			isChanged := takeRecent(ctx, changed)
			if isChanged && isAgain {
				note("files that --watch selects have changed during two builds; if the build writes them, select fewer")
			}
			isAgain = isChanged && !isAgain
		}
	}()
	return built
}

// takeRecent waits until a change during the build would have been reported, and reports whether one was.
func takeRecent(ctx context.Context, changed <-chan struct{}) bool {
	ctx, stop := context.WithTimeout(ctx, 2*quietTime)
	defer stop()
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}
