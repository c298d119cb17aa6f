// Package canary tests that secrets are neither kept nor shown: canaries in every place of a conversation are
// looked for in all that mcpc writes. The commands run in the process of the tests, and their servers as
// processes. Real processes of mcpc are those that crash, and one that is killed in a call.
package canary
