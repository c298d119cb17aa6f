package view

import "context"

// Searched returns what Rows returns once all bodies are searched. If ctx ends before, it returns the
// rows that were found so far, and Pending says how many exchanges are not searched.
func Searched(ctx context.Context, r Reader, q Query) (Page, error) {
	for {
		page, err := r.Rows(ctx, q)
		if err != nil || page.Pending == 0 || ctx.Err() != nil {
			return page, err
		}
		r.Wait(ctx, page.Seq)
	}
}

// EachRow calls look with all rows of a query, as far as they are searched when ctx ends. It returns how
// many exchanges are not searched.
func EachRow(ctx context.Context, r Reader, q Query, look func(Row)) (pending int, err error) {
	q.From, q.Count = 0, mostRows
	for {
		page, err := Searched(ctx, r, q)
		if err != nil {
			return 0, err
		}
		for _, row := range page.Rows {
			look(row)
		}
		pending = max(pending, page.Pending)
		q.From += len(page.Rows)
		if len(page.Rows) == 0 || q.From >= page.Total {
			return pending, nil
		}
	}
}
