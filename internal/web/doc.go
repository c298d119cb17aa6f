// Package web serves the page of mcpc inspect to a browser on this machine. The page shows the
// documents of a view.Reader and carries out actions through a view.Actor.
//
// A URL with a one-time token admits a page. The page then gets a cookie and a key, and each request
// for data needs both: a different page on this machine can make the browser send the cookie, but
// does not know the key. Errors are {"error": text}; an error in a filter also has its column.
package web
