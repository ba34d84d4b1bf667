// Package pipeline runs a graph of stages, skipping those whose output exists.
//
// A [Stage] is one step of a graph: its exported fields are its parameters. An
// output is named by its [store.Key], the hash of everything that can change
// its bytes: kind, version, parameters and the keys of its inputs. A [Splitter]
// is a stage whose work falls into parts; each part is committed on its own, so
// that a killed run redoes none of them. Raw files enter through [Files].
//
// [Run] makes what is missing, [Plan] says what that would be and why, [Verify]
// reads everything again. All three may be called at once, in one process or in
// many, on one store: what one of them makes the others adopt. A graph's stages
// belong to the call while it runs, for it calls Check, which may change them;
// two calls at once need two graphs, or stages that were checked before.
//
// The layout of the store, the commit and what is in a key are drawn in
// docs/engine.md.
package pipeline
