// Espalier turns raw corpora into scored models: see README.md, or
//
//	espalier help
package main

import (
	"os"

	"espalier/cmd/espalier/cli"
	"espalier/jobs"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, jobs.Kinds()))
}
