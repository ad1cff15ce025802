// Package proposal keeps proposed changes of skills until a person decides on them, makes
// the changes that are approved, and keeps the history of skills that were changed.
//
// The one rule: a skill changes only by Approve and Revert, all of its files or none.
package proposal
