// Package lab measures the program; nothing of it is in the program.
//
// What it is for has a folder each:
//
//   - bench: how fast, in how much memory, and beside whom. bench/tables writes the tables of
//     docs/measurements/benchmarks.md; stages takes the route of a post apart; peers, edges, window and json are programs
//     of their own.
//   - growth: made-up sentences like those of a real feed, for windows larger than all real data; growth/fit makes its
//     parameters.
//   - eval: how good the codes are, and that searches lose nothing. It writes docs/measurements/evaluation.md.
//   - report: what both write, Markdown between markers, and plots; cpu: the processor time that both count; product: the
//     binary that is measured from outside.
//   - defaultmodel: the program that learns the model embedded in refrain.
//
// cmd/refrain-lab is the command for the tables of bench and eval.
package lab
