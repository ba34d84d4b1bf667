package card

const alpacaCitation = "R. Taori, I. Gulrajani, T. Zhang, Y. Dubois, X. Li, C. Guestrin, P. Liang, T. B. Hashimoto: Stanford Alpaca: An Instruction-following LLaMA model. 2023"

// instructCards are of instructions with their answers.
var instructCards = []Card{
	{
		Name: "alpaca", Also: []string{"alpaca/en", "alpaca/zh"}, Title: "Alpaca 52K and sets in its layout", Home: "https://github.com/tatsu-lab/stanford_alpaca",
		Licence: "CC BY-NC 4.0", Citation: alpacaCitation,
		Files:  []File{{Pattern: "alpaca_data.json", What: "instructions, inputs and outputs"}},
		Counts: []Count{{Split: "train", Rows: 52002, Source: "notes on the LLaMA-Adapter paper, section 4.1"}},
		Traps:  "empty inputs and outputs are values; JSON lines and arrays alike",
		Sample: "alpaca",
	},
	{
		Name: "alpaca/seed", Title: "seed tasks of Self-Instruct", Home: "https://github.com/tatsu-lab/stanford_alpaca",
		Licence: "Apache-2.0", Citation: "Y. Wang, Y. Kordi, S. Mishra, A. Liu, N. A. Smith, D. Khashabi, H. Hajishirzi: Self-Instruct. ACL 2023, arXiv 2212.10560",
		Files:  []File{{Pattern: "seed_tasks.jsonl", What: "tasks with their instances"}},
		Counts: []Count{{Split: "train", Rows: 175, Source: "counted in the file"}},
		Traps:  "a row an instance, not a task",
		Sample: "alpaca",
	},
	{
		Name: "dolly", Title: "Dolly 15K", Home: "https://huggingface.co/datasets/databricks/databricks-dolly-15k",
		Licence: "CC BY-SA 3.0", Citation: "M. Conover et al.: Free Dolly: Introducing the World's First Truly Open Instruction-Tuned LLM. 2023",
		Files:  []File{{Pattern: "databricks-dolly-15k.jsonl", What: "instructions, contexts and responses"}},
		Traps:  "empty contexts are values",
		Sample: "alpaca",
	},
}
