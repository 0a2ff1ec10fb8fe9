// Package models keeps the codes of a running service up to date.
//
// Codes are learned from the texts that they are to tell apart, and feeds change. A Keeper learns a model anew from the
// texts in the windows, on a schedule or when searches have got worse, and gives it to the windows one after the other,
// if it is better than the one in use on the newest texts. A window takes a model on while it goes on answering
// (sigstore.Window.Recode), and no model changes what is found; so there is nothing to stop, and a change that turns out
// badly is undone by another.
//
// A Registry keeps the models that were learned in the data directory.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package models
