// Package chinvex is the root of the module. It holds no code: the programs are in
// cmd, the rooms that they are made of are described in docs/architecture.md, and the
// tests here hold the code against that description.
package chinvex
