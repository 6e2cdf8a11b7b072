package kerneltest

// goQuestions are the cells that ask, in Go: those of plain means without and with a declaration, so that where cells are compiled
// both kinds are tried.
func goQuestions() Questions {
	ask := func(code string) string { return "import \"cancha/runtime/session\"\n" + code }
	return Questions{
		Line:     ask("line, err := session.Input(\"Name?\")\nif err != nil {\n\tpanic(err)\n}\nfmt.Println(line)"),
		Password: ask("secret, err := session.Password(\"Secret?\")\nif err != nil {\n\tpanic(err)\n}\nfmt.Println(secret)"),
		Two:      ask("for _, prompt := range []string{\"a?\", \"b?\"} {\n\tline, err := session.Input(prompt)\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\tfmt.Println(line)\n}"),
		End:      ask("_, err := session.Input(\"more?\")\nif errors.Is(err, io.EOF) {\n\tfmt.Println(\"end\")\n}"),
		Beside: ask("var asking sync.WaitGroup\nfor i := range 3 {\n\tasking.Add(1)\n\tgo func() {\n\t\tdefer asking.Done()\n" +
			"\t\tprompt := fmt.Sprintf(\"%d?\", i)\n\t\tline, err := session.Input(prompt)\n\t\tfmt.Println(prompt, line)\n\t\tif err != nil {\n\t\t\tfmt.Println(err)\n\t\t}\n\t}()\n}\nasking.Wait()"),
		Late: ask("go func() {\n\ttime.Sleep(50 * time.Millisecond)\n\tif _, err := session.Input(\"still there?\"); errors.Is(err, session.ErrNoInput) {\n\t\tfmt.Println(\"refused\")\n\t}\n}()"),
		Plain: map[string]string{
			"fmt.Scanln":      "var first, last string\nfmt.Scanln(&first, &last)\nfmt.Println(first, last)",
			"a scanner":       "import \"bufio\"\nscanner := bufio.NewScanner(os.Stdin)\nscanner.Scan()\nfmt.Println(scanner.Text())",
			"a reader":        "import \"bufio\"\nline, _ := bufio.NewReader(os.Stdin).ReadString('\\n')\nfmt.Print(line)",
			"os.Stdin.Read":   "buf := make([]byte, 100)\nn, _ := os.Stdin.Read(buf)\nfmt.Print(string(buf[:n]))",
			"a function":      "func typed() string {\n\tvar first, last string\n\tfmt.Scanln(&first, &last)\n\treturn first + \" \" + last\n}\nfmt.Println(typed())",
			"a declared type": "import \"bufio\"\ntype lines struct{ *bufio.Scanner }\nfunc (l lines) next() string { l.Scan(); return l.Text() }\nfmt.Println(lines{bufio.NewScanner(os.Stdin)}.next())",
			"a goroutine":     "got := make(chan string)\ngo func() {\n\tvar first, last string\n\tfmt.Scanln(&first, &last)\n\tgot <- first + \" \" + last\n}()\nfmt.Println(<-got)",
		},
		Values: "var x, y, z int\nfmt.Scan(&x, &y, &z)\nfmt.Println(x + y + z)",
		Lines:  "import \"bufio\"\nscanner := bufio.NewScanner(os.Stdin)\nfor scanner.Scan() {\n\tfmt.Println(scanner.Text())\n}\nfmt.Println(\"end\")",
	}
}
