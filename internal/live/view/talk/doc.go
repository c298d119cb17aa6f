// Package talk tells an exchange in lines: what each message was in a few words, where the time
// went, and what became of streams that broke.
package talk
